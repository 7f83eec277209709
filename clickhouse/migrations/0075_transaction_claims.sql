-- Claims on the money of a transaction by its id, whatever the name of the event: what a store confirmed looks here who else claims it.
-- Events with a receipt are not in here, but in receipts_by_claim_v1.
CREATE TABLE IF NOT EXISTS transaction_claims_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the transaction belongs to',
    claim_key        UInt64 COMMENT '64-bit hash of charge or refund, and transaction_id' CODEC(NONE),
    day              Date COMMENT 'UTC date of the event' CODEC(ZSTD(1)),
    install_uuid     String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    event_name       LowCardinality(String) COMMENT 'name of the event',
    event_key        UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    currency         LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    amount_micros    Int64 COMMENT 'money in micros of currency, refunds negative' CODEC(ZSTD(1)),
    transaction_key  UInt64 COMMENT '64-bit hash of event_name and transaction_id' CODEC(ZSTD(1)),
    claim_rank       UInt8 COMMENT 'who claims the transaction: 1 SDK, 2 backend' CODEC(ZSTD(1)),
    received_at_ms   Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    dated_at_ms      Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    written_at_ms    Int64 COMMENT 'when this row was written, by the clock of ClickHouse, Unix epoch milliseconds' CODEC(ZSTD(1)),
    topic            LowCardinality(String) COMMENT 'log position: topic',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    INDEX written_at written_at_ms TYPE minmax GRANULARITY 1,
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{replicated}}MergeTree
ORDER BY (app_id, claim_key)
SETTINGS {{dedupe_window}}, index_granularity = 512, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
