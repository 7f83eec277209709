-- Events report: distinct installs of whole UTC days, read only for the rows of the asked page.
-- A row holds a whole set, megabytes on a busy day: small granules and merge blocks, or one merge takes all memory.
CREATE TABLE IF NOT EXISTS event_installs_per_day_v1 {{on_cluster}}
(
    app_id      LowCardinality(String) COMMENT 'app that the events belong to',
    day         Date COMMENT 'UTC date of the events',
    event_name  LowCardinality(String) COMMENT 'name of the events',
    installs    AggregateFunction(uniqExact, String) COMMENT 'set of install_uuid'
)
ENGINE = {{replicated}}AggregatingMergeTree
ORDER BY (app_id, day, event_name)
SETTINGS {{dedupe_window}}, index_granularity = 8, merge_max_block_size = 8, fsync_after_insert = 1,
    fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1,
    merge_selector_base = 10
