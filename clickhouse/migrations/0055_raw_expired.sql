-- Up to which day retention has deleted the raw events of an app. Written before they are deleted; the greatest day counts.
CREATE TABLE IF NOT EXISTS raw_expired_v1 {{on_cluster}}
(
    app_id          LowCardinality(String) COMMENT 'app that the events belong to',
    expired_before  SimpleAggregateFunction(max, Date) COMMENT 'raw events of earlier UTC days are gone, or are being deleted'
)
ENGINE = {{replicated}}AggregatingMergeTree
ORDER BY app_id
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
