-- Distinct installs of the events of a day, in a row as settled_installs_v1 has.
CREATE TABLE IF NOT EXISTS settled_uniques_v1 {{on_cluster}}
(
    app_id                LowCardinality(String) COMMENT 'app that the events belong to',
    day                   Date COMMENT 'UTC date of the events',
    stamp                 UInt64 COMMENT 'stamp of the day when it was worked out',
    `uniques.event_name`  Array(LowCardinality(String)) COMMENT 'name of the events',
    `uniques.installs`    Array(UInt64) COMMENT 'number of distinct installs'
)
ENGINE = {{replicated}}ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64
