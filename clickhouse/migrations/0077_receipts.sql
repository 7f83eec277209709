-- What the stores say of the receipt of an event, and of events that a store sent itself: the newest version of a row holds. Read it with FINAL.
CREATE TABLE IF NOT EXISTS receipts_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the event belongs to',
    day              Date COMMENT 'UTC date of ts_ms',
    install_uuid     String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    event_key        UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    topic            LowCardinality(String) COMMENT 'log position: topic',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    event_name       LowCardinality(String) COMMENT 'name of the event',
    ts_ms            Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    received_at_ms   Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    dated_at_ms      Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    source           LowCardinality(String) COMMENT 'who sent the event: sdk, s2s, bulk, or store',
    has_money        UInt8 COMMENT '1 when the event has revenue',
    currency         LowCardinality(String) COMMENT 'currency that the event states, empty without revenue',
    amount_micros    Int64 COMMENT 'money in micros of currency that the event states, refunds negative' CODEC(ZSTD(1)),
    stated_id        String COMMENT 'transaction_id of the event' CODEC(ZSTD(1)),
    receipt_hash     String COMMENT 'SHA-256 of the receipt, hexadecimal; empty without one' CODEC(ZSTD(1)),
    store            LowCardinality(String) COMMENT 'apple or google, empty when unknown',
    verdict          LowCardinality(String) COMMENT 'valid, invalid, sandbox or unverified',
    reason           LowCardinality(String) COMMENT 'why, empty when there is nothing to add',
    product_id       String COMMENT 'product as the store names it' CODEC(ZSTD(1)),
    transaction_id   String COMMENT 'transaction as the store names it' CODEC(ZSTD(1)),
    original_id      String COMMENT 'what all transactions of one purchase have in common' CODEC(ZSTD(1)),
    price_currency   LowCardinality(String) COMMENT 'currency that the store names, empty when it names no price with a rate',
    price_micros     Int64 COMMENT 'price in micros of price_currency, never negative' CODEC(ZSTD(1)),
    taken_back_ms    Int64 COMMENT 'when the store took the purchase back, Unix epoch milliseconds, 0 when it did not' CODEC(ZSTD(1)),
    claim_key        UInt64 COMMENT '64-bit hash of charge or refund, and of the transaction that it claims; 0 when it claims none' CODEC(NONE),
    judged_at_ms     Int64 COMMENT 'when it was judged, Unix epoch milliseconds' CODEC(ZSTD(1)),
    version          UInt64 COMMENT 'grows with each verdict on the event' CODEC(ZSTD(1)),
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_original original_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{replicated}}ReplacingMergeTree(version)
ORDER BY (app_id, day, install_uuid, event_key, topic, partition, offset)
SETTINGS {{dedupe_window}}, index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
