-- Days on which an install has money: a changed verdict changes the settled money of these days. A set.
CREATE TABLE IF NOT EXISTS money_days_v1 {{on_cluster}}
(
    app_id       LowCardinality(String) COMMENT 'app that the install belongs to',
    install_key  UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets',
    day          Date COMMENT 'UTC date of events whose money counts'
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, install_key, day)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024
