-- Installs that wait for a click, by the time of their install event. A set: one waits while its signs sum up to 1.
CREATE TABLE IF NOT EXISTS installs_pending_v1 {{on_cluster}}
(
    app_id          LowCardinality(String) COMMENT 'app that the install belongs to',
    received_at_ms  Int64 COMMENT 'when the gateway received the install event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    install_uuid    String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    day             Date COMMENT 'UTC date of installed_at_ms',
    sign            Int8 COMMENT '1 begins to wait, -1 ends it',
    topic           LowCardinality(String) COMMENT 'log position of the decision: topic and identity of the log',
    partition       UInt32 COMMENT 'log position of the decision: partition' CODEC(ZSTD(1)),
    offset          UInt64 COMMENT 'log position of the decision: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, received_at_ms, install_uuid, topic, partition, offset, sign)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
