-- Installs by the click that brought them. A set: the claim of an install on a click holds while its signs sum up to 1.
CREATE TABLE IF NOT EXISTS install_claims_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the install belongs to',
    click_id         String COMMENT 'click that brought it' CODEC(ZSTD(1)),
    install_uuid     String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    day              Date COMMENT 'UTC date of installed_at_ms',
    installed_at_ms  Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    partner          LowCardinality(String) COMMENT 'partner of the click',
    campaign         LowCardinality(String) COMMENT 'campaign of the click, empty when absent',
    reinstall        UInt8 COMMENT '1 for the same device or user within the window',
    event_topic      LowCardinality(String) COMMENT 'log position of the install event: topic and identity of the log',
    event_partition  UInt32 COMMENT 'log position of the install event: partition' CODEC(ZSTD(1)),
    event_offset     UInt64 COMMENT 'log position of the install event: offset' CODEC(ZSTD(1)),
    event_index      UInt32 COMMENT 'position of the install event in its record' CODEC(ZSTD(1)),
    sign             Int8 COMMENT '1 adds the claim, -1 cancels the one before',
    topic            LowCardinality(String) COMMENT 'log position of the decision: topic and identity of the log',
    partition        UInt32 COMMENT 'log position of the decision: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position of the decision: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
PRIMARY KEY (app_id, click_id)
ORDER BY (app_id, click_id, install_uuid, topic, partition, offset, sign)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 128, min_compress_block_size = 4096,
    max_compress_block_size = 4096
