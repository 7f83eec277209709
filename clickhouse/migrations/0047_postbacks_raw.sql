-- Postbacks of Apple as they came, by day. They are judged again from here. A set by log position.
CREATE TABLE IF NOT EXISTS postbacks_raw_v1 {{on_cluster}}
(
    day             Date COMMENT 'UTC date of received_at_ms',
    received_at_ms  Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    protocol        LowCardinality(String) COMMENT 'skan or aak',
    content_type    LowCardinality(String) COMMENT 'Content-Type as sent, empty when absent',
    body            String COMMENT 'body as sent' CODEC(ZSTD(1)),
    audit_key       String COMMENT 'audit object that holds it' CODEC(ZSTD(1)),
    topic           LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    partition       UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset          UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (day, topic, partition, offset)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024
