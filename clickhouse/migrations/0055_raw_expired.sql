-- Up to which day raw events of an app may be gone by retention. Written before they are deleted; the row with the greatest number counts:
-- a mark of a clock that was ahead goes back by one more row.
CREATE TABLE IF NOT EXISTS raw_expired_v1 {{on_cluster}}
(
    app_id          LowCardinality(String) COMMENT 'app that the events belong to',
    expired_before  Date COMMENT 'raw events of earlier UTC days are gone, or are being deleted',
    number          UInt64 COMMENT 'counts the marks of the app'
)
ENGINE = {{replicated}}ReplacingMergeTree(number)
ORDER BY app_id
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
