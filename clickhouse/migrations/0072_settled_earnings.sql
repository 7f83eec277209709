-- Money of a day from the install time on, by install, age and currency, with the newest verdicts of new installs; as settled_campaigns_v1.
CREATE TABLE IF NOT EXISTS settled_earnings_v1 {{on_cluster}}
(
    app_id                LowCardinality(String) COMMENT 'app that the row belongs to',
    day                   Date COMMENT 'UTC date of the money',
    stamp                 UInt64 COMMENT 'stamp of the day when it was worked out',
    `earned.install_day`  Array(Date) COMMENT 'UTC date of the install time of new installs' CODEC(ZSTD(1)),
    `earned.partner`      Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `earned.campaign`     Array(LowCardinality(String)) COMMENT 'campaign of the click, empty when absent',
    `earned.country`      Array(LowCardinality(String)) COMMENT 'ISO 3166-1 alpha-2, empty when unknown',
    `earned.number`       Array(UInt64) COMMENT 'hash of the log position of the verdict: it tells installs apart' CODEC(ZSTD(1)),
    `earned.age`          Array(UInt16) COMMENT 'whole 24 hours from the install time to the money' CODEC(ZSTD(1)),
    `earned.currency`     Array(LowCardinality(String)) COMMENT 'ISO 4217 alpha-3 in upper case',
    `earned.micros`       Array(Int128) COMMENT 'sum of money in micros of currency' CODEC(ZSTD(1)),
    `earned.purchases`    Array(UInt64) COMMENT 'number of money events that are no refunds' CODEC(T64, ZSTD(1)),
    `earned.paid`         Array(UInt8) COMMENT '1: one of them has an amount above 0' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8
