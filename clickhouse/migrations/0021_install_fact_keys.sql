-- Facts by what a click or another install may match them by: click id, device, user, address with version and model, network,
-- block. A set. The times that decide whether a click matches stand beside the key: reading facts costs a granule of JSON each.
CREATE TABLE IF NOT EXISTS install_fact_keys_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the event belongs to',
    match_key        UInt64 COMMENT 'hash of the kind and the value' CODEC(NONE),
    received_at_ms   Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    install_uuid     String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    kind             LowCardinality(String) COMMENT 'install or alias',
    installed_at_ms  Int64 COMMENT 'install time, Unix epoch milliseconds, 0 for an alias' CODEC(ZSTD(1)),
    day              Date COMMENT 'UTC date of received_at_ms',
    topic            LowCardinality(String) COMMENT 'log position of the event: topic and identity of the log',
    partition        UInt32 COMMENT 'log position of the event: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position of the event: offset' CODEC(ZSTD(1)),
    event_index      UInt32 COMMENT 'position of the event in its record' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
PRIMARY KEY (app_id, match_key)
ORDER BY (app_id, match_key, received_at_ms, install_uuid, topic, partition, offset, event_index)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 128, min_compress_block_size = 4096,
    max_compress_block_size = 4096
