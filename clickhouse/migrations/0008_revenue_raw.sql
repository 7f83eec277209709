-- One row for each event whose money counts: small, so that reports can join it with what is known of an install today.
-- Rows that revenue_cancelled_v1 holds too do not count after all.
CREATE TABLE IF NOT EXISTS revenue_raw_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the event belongs to',
    day              Date COMMENT 'UTC date of ts_ms',
    install_uuid     String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    ts_ms            Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    event_name       LowCardinality(String) COMMENT 'name of the event',
    event_key        UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    currency         LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    amount_micros    Int64 COMMENT 'money in micros of currency, refunds negative' CODEC(ZSTD(1)),
    transaction_key  UInt64 COMMENT '64-bit hash of event_name and transaction_id, 0 without transaction' CODEC(ZSTD(1)),
    received_at_ms   Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    topic            LowCardinality(String) COMMENT 'log position: topic',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    claim_rank       UInt8 DEFAULT 2 COMMENT 'who claims the transaction: 1 SDK, 2 backend, 3 receipt that the store confirmed' CODEC(ZSTD(1)),
    install_key      UInt64 DEFAULT sipHash64(install_uuid) COMMENT '64-bit hash of install_uuid, for joins and sets',
    correction_ms    Int64 DEFAULT 0 COMMENT 'what the age of the event adds to ts_ms: the error of the clock of an SDK, in milliseconds' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}MergeTree
ORDER BY (app_id, day, install_uuid)
SETTINGS {{dedupe_window}}, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
