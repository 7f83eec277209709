-- Verdicts. A decision that changes an install cancels the row before it (sign -1) and adds its own (sign 1), so that the
-- signs of an install sum up to 0 or 1. A set by the position of the decision and the sign: read it with FINAL.
CREATE TABLE IF NOT EXISTS installs_v1 {{on_cluster}}
(
    app_id            LowCardinality(String) COMMENT 'app that the install belongs to',
    install_uuid      String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    install_key       UInt64 DEFAULT sipHash64(install_uuid) COMMENT '64-bit hash of install_uuid, for joins and sets',
    day               Date COMMENT 'UTC date of installed_at_ms',
    installed_at_ms   Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    received_at_ms    Int64 COMMENT 'when the gateway received the install event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    decided_at_ms     Int64 COMMENT 'when it was decided, Unix epoch milliseconds' CODEC(ZSTD(1)),
    pending           UInt8 COMMENT '1 while a click that we signed is not there yet: no verdict',
    partner           LowCardinality(String) COMMENT 'partner of the click, or organic; empty while pending',
    attribution_type  LowCardinality(String) COMMENT 'method that matched the click, or organic; empty while pending',
    campaign          LowCardinality(String) COMMENT 'campaign of the click, empty when absent',
    link_id           LowCardinality(String) COMMENT 'tracking link of the click, empty when absent',
    click_id          String COMMENT 'click that brought it, empty when none did' CODEC(ZSTD(1)),
    clicked_at_ms     Int64 COMMENT 'time of that click, Unix epoch milliseconds, 0 without one' CODEC(ZSTD(1)),
    reinstall         UInt8 COMMENT '1 for the same device or user within the window',
    fraud_flags       Array(LowCardinality(String)) COMMENT 'names of the fraud flags',
    rule_version      UInt32 COMMENT 'version of the rules that decided',
    decision          String COMMENT 'JSON: the record of installs.attributed.v1' CODEC(ZSTD(1)),
    event_topic       LowCardinality(String) COMMENT 'log position of the install event: topic and identity of the log',
    event_partition   UInt32 COMMENT 'log position of the install event: partition' CODEC(ZSTD(1)),
    event_offset      UInt64 COMMENT 'log position of the install event: offset' CODEC(ZSTD(1)),
    event_index       UInt32 COMMENT 'position of the install event in its record' CODEC(ZSTD(1)),
    sign              Int8 COMMENT '1 adds the verdict, -1 cancels the one before',
    topic             LowCardinality(String) COMMENT 'log position of the decision: topic and identity of the log',
    partition         UInt32 COMMENT 'log position of the decision: partition' CODEC(ZSTD(1)),
    offset            UInt64 COMMENT 'log position of the decision: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, install_uuid, topic, partition, offset, sign)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024
