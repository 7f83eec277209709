-- Which users an install has had, and since when.
CREATE TABLE IF NOT EXISTS identities_v1 {{on_cluster}}
(
    app_id        LowCardinality(String) COMMENT 'app that the install belongs to',
    install_uuid  String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    user_id       String COMMENT 'user id of the customer' CODEC(ZSTD(1)),
    since_ms      SimpleAggregateFunction(min, Int64) COMMENT 'time of the first event with this user id, Unix epoch milliseconds' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}AggregatingMergeTree
ORDER BY (app_id, install_uuid, user_id)
SETTINGS {{dedupe_window}}, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
