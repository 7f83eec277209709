-- Clicks by what an install may match them by: device, address with version and model, or (of honeypots) block of addresses.
-- A set. What tells whether a click may win stands beside the key, so that those that can't hide no others.
CREATE TABLE IF NOT EXISTS click_keys_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app of the link',
    match_key        UInt64 COMMENT 'hash of the kind and the value' CODEC(NONE),
    clicked_at_ms    Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    click_id         String COMMENT 'ours, UUIDv7' CODEC(ZSTD(1)),
    day              Date COMMENT 'UTC date of clicked_at_ms',
    filtered_reason  LowCardinality(String) COMMENT 'why it attributes nothing, empty when it may',
    lookback_hours   UInt16 COMMENT 'window of the link in hours, 0 when the window of the app holds'
)
ENGINE = {{replicated}}ReplacingMergeTree
PARTITION BY toYYYYMM(day)
PRIMARY KEY (app_id, match_key)
ORDER BY (app_id, match_key, clicked_at_ms, click_id)
TTL day + toIntervalDay(90)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 128, min_compress_block_size = 4096,
    max_compress_block_size = 4096
