-- The receipts that claim a transaction, or did once: receipts_v1 has what holds. A refund is under its charge too, since it counts only
-- beside that. A set.
CREATE TABLE IF NOT EXISTS receipts_by_claim_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the event belongs to',
    claim_key        UInt64 COMMENT '64-bit hash of charge or refund, and of the transaction' CODEC(NONE),
    day              Date COMMENT 'UTC date of the event' CODEC(ZSTD(1)),
    install_uuid     String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    event_key        UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    topic            LowCardinality(String) COMMENT 'log position: topic',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    dated_at_ms      Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, claim_key, day, install_uuid, event_key, topic, partition, offset)
SETTINGS {{dedupe_window}}, index_granularity = 512, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
