-- Money that receipts decide on. The money of such an event is in revenue_cancelled_v1 too, and what counts stands here: the newest version
-- of a row holds. Read it with FINAL.
CREATE TABLE IF NOT EXISTS revenue_chosen_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the event belongs to',
    day              Date COMMENT 'UTC date of ts_ms',
    install_uuid     String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    event_key        UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    topic            LowCardinality(String) COMMENT 'log position: topic',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    ts_ms            Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    correction_ms    Int64 COMMENT 'what the age of the event adds to ts_ms, in milliseconds' CODEC(ZSTD(1)),
    install_key      UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets' CODEC(NONE),
    event_name       LowCardinality(String) COMMENT 'name of the event',
    received_at_ms   Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    dated_at_ms      Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    counts           UInt8 COMMENT '1: the money counts',
    currency         LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    amount_micros    Int64 COMMENT 'money in micros of currency that counts, refunds negative, 0 when none does' CODEC(ZSTD(1)),
    price_source     LowCardinality(String) COMMENT 'who named the amount: store, event, or empty when none counts',
    reused           UInt8 COMMENT '1: the transaction counts for another install',
    version          UInt64 COMMENT 'grows with each decision on the event' CODEC(ZSTD(1)),
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{replicated}}ReplacingMergeTree(version)
ORDER BY (app_id, day, install_uuid, event_key, topic, partition, offset)
SETTINGS {{dedupe_window}}, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
