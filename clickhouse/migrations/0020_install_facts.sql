-- Install events and aliases as install-finder found them. A set by the position of the event: install-attributor may write
-- a fact again.
CREATE TABLE IF NOT EXISTS install_facts_v1 {{on_cluster}}
(
    app_id          LowCardinality(String) COMMENT 'app that the event belongs to',
    install_uuid    String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    day             Date COMMENT 'UTC date of received_at_ms',
    received_at_ms  Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    kind            LowCardinality(String) COMMENT 'install or alias',
    fact            String COMMENT 'JSON: the record of installs.found.v1' CODEC(ZSTD(1)),
    match_keys      Array(UInt64) COMMENT 'hashes of what a click or another install may match it by' CODEC(ZSTD(1)),
    topic           LowCardinality(String) COMMENT 'log position of the event: topic and identity of the log',
    partition       UInt32 COMMENT 'log position of the event: partition' CODEC(ZSTD(1)),
    offset          UInt64 COMMENT 'log position of the event: offset' CODEC(ZSTD(1)),
    event_index     UInt32 COMMENT 'position of the event in its record' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, install_uuid, topic, partition, offset, event_index)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64, min_compress_block_size = 4096,
    max_compress_block_size = 4096
