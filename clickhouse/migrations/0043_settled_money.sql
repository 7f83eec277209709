-- Money of a day that counts, by the newest verdicts, in a row as settled_installs_v1 has. Rates are no part of it.
-- It notes what it was worked out from, so that a report can add the money events that came since (docs/adr/0390).
CREATE TABLE IF NOT EXISTS settled_money_v1 {{on_cluster}}
(
    app_id               LowCardinality(String) COMMENT 'app that the money belongs to',
    day                  Date COMMENT 'UTC date of the money',
    stamp                UInt64 COMMENT 'stamp of the day when it was worked out',
    other_changes        UInt64 DEFAULT 0 COMMENT 'changes of the stamp that did more than add money events',
    events               UInt64 DEFAULT 0 COMMENT 'number of money events that the row was worked out from',
    last_received_ms     Int64 DEFAULT -1 COMMENT 'when the gateway received the last one of them, Unix epoch milliseconds; -1: not noted',
    `money.partner`      Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `money.currency`     Array(LowCardinality(String)) COMMENT 'ISO 4217 alpha-3 in upper case',
    `money.purchases`    Array(UInt64) COMMENT 'number of money events that are no refunds',
    `money.micros`       Array(Int128) COMMENT 'sum of money in micros of currency',
    `money.amounts`      Array(UInt64) COMMENT 'number of amounts other than 0',
    `payers.partner`     Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `payers.currencies`  Array(Array(LowCardinality(String))) COMMENT 'currencies that an install paid an amount above 0 in, ascending',
    `payers.installs`    Array(UInt64) COMMENT 'number of installs that paid in exactly these currencies',
    `ltv.install_day`    Array(Date) COMMENT 'UTC date of the install time of new installs',
    `ltv.partner`        Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `ltv.age`            Array(UInt16) COMMENT 'whole 24 hours from the install time to the money',
    `ltv.currency`       Array(LowCardinality(String)) COMMENT 'ISO 4217 alpha-3 in upper case',
    `ltv.micros`         Array(Int128) COMMENT 'sum of money in micros of currency',
    `ltv.amounts`        Array(UInt64) COMMENT 'number of amounts other than 0'
)
ENGINE = {{replicated}}ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64
