-- Rows of revenue_raw_v1 whose transaction an event of another partition counts. A set: a row that is put in twice is
-- in it once, so that any number of sweeps may run. Read it with FINAL.
CREATE TABLE IF NOT EXISTS revenue_cancelled_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the event belongs to',
    day              Date COMMENT 'UTC date of ts_ms',
    install_uuid     String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    ts_ms            Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    event_name       LowCardinality(String) COMMENT 'name of the event',
    event_key        UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    currency         LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    amount_micros    Int64 COMMENT 'money in micros of currency that does not count, refunds negative' CODEC(ZSTD(1)),
    transaction_key  UInt64 COMMENT '64-bit hash of event_name and transaction_id' CODEC(ZSTD(1)),
    received_at_ms   Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    topic            LowCardinality(String) COMMENT 'log position: topic',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, day, install_uuid, transaction_key, topic, partition, offset)
SETTINGS {{dedupe_window}}, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
