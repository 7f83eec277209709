-- Verdicts by day of install with everything that the report performance groups by. A set: read it with FINAL.
CREATE TABLE IF NOT EXISTS installs_by_dimensions_v1 {{on_cluster}}
(
    app_id            LowCardinality(String) COMMENT 'app that the install belongs to',
    day               Date COMMENT 'UTC date of installed_at_ms',
    installed_at_ms   Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    install_key       UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets',
    partner           LowCardinality(String) COMMENT 'partner of the click, or organic',
    campaign          LowCardinality(String) COMMENT 'campaign of the click, empty when absent',
    ad_group          LowCardinality(String) COMMENT 'ad group of the click, empty when absent',
    creative          LowCardinality(String) COMMENT 'creative of the click, empty when absent',
    link_id           LowCardinality(String) COMMENT 'tracking link of the click, empty when absent',
    sub1              String COMMENT 'sub1 of the click, empty when absent' CODEC(ZSTD(1)),
    sub2              String COMMENT 'sub2 of the click, empty when absent' CODEC(ZSTD(1)),
    sub3              String COMMENT 'sub3 of the click, empty when absent' CODEC(ZSTD(1)),
    sub4              String COMMENT 'sub4 of the click, empty when absent' CODEC(ZSTD(1)),
    sub5              String COMMENT 'sub5 of the click, empty when absent' CODEC(ZSTD(1)),
    country           LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 of the sender of the install event, empty when unknown',
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
