-- The stamp of a day: a number that is larger after each change of its data. Views cascaded behind the data add to it, so
-- that whoever sees a stamp sees the data that it stands for. It may count too much, and must never be lowered (docs/adr/0270).
-- Changes that are no `added` change figures of what was there before (docs/adr/0390).
CREATE TABLE IF NOT EXISTS report_stamps_v1 {{on_cluster}}
(
    app_id         LowCardinality(String) COMMENT 'app that the data belongs to; /backfill counts what the settler copied',
    source         LowCardinality(String) COMMENT 'activity, uniques, installs or money',
    day            Date COMMENT 'UTC date of the events, or of the installs',
    rows           SimpleAggregateFunction(sum, UInt64) COMMENT 'number of changes',
    added          SimpleAggregateFunction(sum, UInt64) DEFAULT 0 COMMENT 'number of those changes that only added money events',
    changed_at_ms  SimpleAggregateFunction(max, Int64) DEFAULT toUnixTimestamp64Milli(now64(3)) COMMENT 'time of the last change by the clock of ClickHouse, Unix epoch milliseconds'
)
ENGINE = {{replicated}}AggregatingMergeTree
ORDER BY (app_id, source, day)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
