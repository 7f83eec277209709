-- Which transactions have been counted, by which event. No personal data: it outlives an erasure. Of several rows with one key the one
-- of the highest rank counts, then the first by received_at_ms, partition, offset, topic; the others belong into revenue_cancelled_v1.
-- Laid out like event_keys_v1, for the same look-ups; the index lets a sweep read what was written lately.
CREATE TABLE IF NOT EXISTS transaction_keys_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the transaction belongs to',
    transaction_key  UInt64 COMMENT '64-bit hash of event_name and transaction_id' CODEC(NONE),
    day              Date COMMENT 'UTC date of the event' CODEC(ZSTD(1)),
    received_at_ms   Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    written_at_ms    Int64 COMMENT 'when this row was written, by the clock of ClickHouse, Unix epoch milliseconds' CODEC(ZSTD(1)),
    topic            LowCardinality(String) COMMENT 'log position: topic',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    claim_rank       UInt8 DEFAULT 2 COMMENT 'who claims the transaction: 1 SDK, 2 backend, 3 receipt that the store confirmed' CODEC(ZSTD(1)),
    INDEX written_at written_at_ms TYPE minmax GRANULARITY 1
)
ENGINE = {{replicated}}MergeTree
ORDER BY (app_id, transaction_key)
SETTINGS {{dedupe_window}}, index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 4096,
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
