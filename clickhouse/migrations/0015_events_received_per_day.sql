-- What counts toward the monthly quota: events by the day on which they were received, whatever day they are of.
CREATE TABLE IF NOT EXISTS events_received_per_day_v1 {{on_cluster}}
(
    app_id        LowCardinality(String) COMMENT 'app that the events belong to',
    received_day  Date COMMENT 'UTC date on which the gateway received the events',
    events        UInt64 COMMENT 'number of events'
)
ENGINE = {{replicated}}SummingMergeTree(events)
ORDER BY (app_id, received_day)
SETTINGS {{dedupe_window}}, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
