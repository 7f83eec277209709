-- Which idempotency keys are stored, and the log position that wrote each. No personal data: it outlives an erasure.
-- The days of a batch lie together, so a look-up of fresh keys reads the same little however much is stored.
-- Hashes do not compress: NONE saves the attempt on every insert, merge and look-up. Small granules and blocks: keys are
-- asked for at random places of their days, and a busy day holds many millions.
CREATE TABLE IF NOT EXISTS event_keys_v1 {{on_cluster}}
(
    app_id     LowCardinality(String) COMMENT 'app that the event belongs to',
    key_day    Date COMMENT 'UTC date of the event, 1970-01-01 for an install',
    event_key  UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    topic      LowCardinality(String) COMMENT 'log position: topic',
    partition  UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset     UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}MergeTree
ORDER BY (app_id, key_day, event_key)
SETTINGS {{dedupe_window}}, index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 4096,
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, merge_selector_base = 10
