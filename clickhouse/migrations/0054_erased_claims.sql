-- Claims of erased events on the money of transactions. Writers look them up beside transaction_keys_v1, so that a batch that
-- comes again finds the same claims, and so that a closed transaction stays closed. A set.
CREATE TABLE IF NOT EXISTS erased_claims_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the transaction belongs to',
    transaction_key  UInt64 COMMENT '64-bit hash of event_name and transaction_id' CODEC(NONE),
    day              Date COMMENT 'UTC date of the event' CODEC(ZSTD(1)),
    received_at_ms   Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    topic            LowCardinality(String) COMMENT 'log position: topic; empty for the claim that closes the transaction',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    claim_rank       UInt8 COMMENT 'who claimed the transaction: 1 SDK, 2 backend, 3 receipt that the store confirmed; 255 closes it' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, transaction_key, claim_rank, topic, partition, offset)
SETTINGS {{dedupe_window}}, index_granularity = 512, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
