-- First and last event of an install on a UTC day, by day: enough to answer each 24-hour window exactly, and a cohort reads the days of
-- its windows and no others. A look-up of one install passes over most granules by the index.
-- The day is that of the corrected time, which the windows of cohorts are compared with. Retention, erasures and look-ups of raw events
-- need the day of the events (docs/adr/0490).
CREATE TABLE IF NOT EXISTS activity_by_day_v1 {{on_cluster}}
(
    app_id       LowCardinality(String) COMMENT 'app that the install belongs to',
    day          Date COMMENT 'UTC date of the corrected times of the events',
    install_key  UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets',
    event_shift  Int16 COMMENT 'days to add to day for the UTC date of the events',
    min_ts_ms    SimpleAggregateFunction(min, Int64) COMMENT 'corrected time of the first event, Unix epoch milliseconds' CODEC(Delta(8), ZSTD(1)),
    max_ts_ms    SimpleAggregateFunction(max, Int64) COMMENT 'corrected time of the last event, Unix epoch milliseconds' CODEC(Delta(8), ZSTD(1)),
    INDEX by_install install_key TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{replicated}}AggregatingMergeTree
PRIMARY KEY (app_id, day, install_key)
ORDER BY (app_id, day, install_key, event_shift)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, merge_selector_base = 10
