-- First and last event of an install on a UTC day: enough to answer each 24-hour retention window exactly.
CREATE TABLE IF NOT EXISTS activity_per_day_v1 {{on_cluster}}
(
    app_id        LowCardinality(String) COMMENT 'app that the install belongs to',
    install_uuid  String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    day           Date COMMENT 'UTC date of the events',
    min_ts_ms     SimpleAggregateFunction(min, Int64) COMMENT 'time of the first event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    max_ts_ms     SimpleAggregateFunction(max, Int64) COMMENT 'time of the last event, Unix epoch milliseconds' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}AggregatingMergeTree
ORDER BY (app_id, install_uuid, day)
SETTINGS {{dedupe_window}}
