-- Money events of a day that count, with the newest verdicts of their installs, in a row as settled_installs_v1 has: for windows
-- that begin or end in the day, and for money of the installs of a part of a day.
-- A row holds all money events of a day: small granules and merge blocks, or one merge takes all memory.
CREATE TABLE IF NOT EXISTS settled_payments_v1 {{on_cluster}}
(
    app_id                    LowCardinality(String) COMMENT 'app that the money belongs to',
    day                       Date COMMENT 'UTC date of the money',
    stamp                     UInt64 COMMENT 'stamp of the day when it was worked out',
    `events.ts_ms`            Array(Int64) COMMENT 'event time, Unix epoch milliseconds' CODEC(Delta(8), ZSTD(1)),
    `events.correction_ms`    Array(Int64) COMMENT 'what the age of the event adds to ts_ms, in milliseconds' CODEC(ZSTD(1)),
    `events.number`           Array(UInt32) COMMENT 'number of the install among those of the row: it names nobody' CODEC(T64, ZSTD(1)),
    `events.event_name`       Array(LowCardinality(String)) COMMENT 'name of the event',
    `events.currency`         Array(LowCardinality(String)) COMMENT 'ISO 4217 alpha-3 in upper case',
    `events.micros`           Array(Int128) COMMENT 'money in micros of currency, refunds negative' CODEC(ZSTD(1)),
    `events.partner`          Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `events.is_new`           Array(UInt8) COMMENT '1 for an install with a verdict that is no reinstall',
    `events.installed_at_ms`  Array(Int64) COMMENT 'install time, Unix epoch milliseconds; says nothing without a verdict' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8
