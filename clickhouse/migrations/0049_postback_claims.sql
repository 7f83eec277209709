-- Valid postbacks by what they claim. The first one of a key and environment wins, by received time, then log position.
-- A set: a postback that is judged valid once more is the same row.
CREATE TABLE IF NOT EXISTS postback_claims_v1 {{on_cluster}}
(
    postback_key    UInt64 COMMENT 'hash of protocol, network, id and sequence index' CODEC(ZSTD(1)),
    day             Date COMMENT 'UTC date of received_at_ms',
    environment     LowCardinality(String) COMMENT 'production or development, by the key that verified',
    received_at_ms  Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    topic           LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    partition       UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset          UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (postback_key, environment, received_at_ms, topic, partition, offset)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 512, min_compress_block_size = 4096,
    max_compress_block_size = 4096
