-- Verdicts by install: money of a few days looks up the newest verdicts of its installs among all. A set.
-- Small granules and blocks, since the installs of a day lie all over the table.
CREATE TABLE IF NOT EXISTS installs_by_key_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the install belongs to',
    install_key      UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets' CODEC(NONE),
    row_key          UInt64 COMMENT '64-bit hash of the log position of the decision' CODEC(NONE),
    sign             Int8 COMMENT '1 adds the verdict, -1 cancels the one before',
    day              Date COMMENT 'UTC date of installed_at_ms',
    installed_at_ms  Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    partner          LowCardinality(String) COMMENT 'partner of the click, or organic',
    reinstall        UInt8 COMMENT '1 for the same device or user within the window'
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, install_key, row_key, sign)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 256, min_compress_block_size = 2048,
    max_compress_block_size = 4096
