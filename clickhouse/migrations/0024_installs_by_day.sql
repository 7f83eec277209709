-- Verdicts by day of install, for the attribution, revenue and cohorts reports. A set: read it with FINAL.
CREATE TABLE IF NOT EXISTS installs_by_day_v1 {{on_cluster}}
(
    app_id            LowCardinality(String) COMMENT 'app that the install belongs to',
    day               Date COMMENT 'UTC date of installed_at_ms',
    installed_at_ms   Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    install_key       UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets',
    partner           LowCardinality(String) COMMENT 'partner of the click, or organic',
    attribution_type  LowCardinality(String) COMMENT 'method that matched the click, or organic',
    reinstall         UInt8 COMMENT '1 for the same device or user within the window',
    flagged           UInt8 COMMENT '1 with a fraud flag',
    sign              Int8 COMMENT '1 adds the verdict, -1 cancels the one before',
    topic             LowCardinality(String) COMMENT 'log position of the decision: topic and identity of the log',
    partition         UInt32 COMMENT 'log position of the decision: partition' CODEC(ZSTD(1)),
    offset            UInt64 COMMENT 'log position of the decision: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, day, installed_at_ms, install_key, topic, partition, offset, sign)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
