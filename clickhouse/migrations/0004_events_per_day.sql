-- Events report: counts and money of whole UTC days. Int128, since a hostile client may send amounts whose sum passes 2^63.
-- Its money is the money that counts; what revenue_cancelled_v1 holds is taken off when it is read.
CREATE TABLE IF NOT EXISTS events_per_day_v1 {{on_cluster}}
(
    app_id          LowCardinality(String) COMMENT 'app that the events belong to',
    day             Date COMMENT 'UTC date of the events',
    event_name      LowCardinality(String) COMMENT 'name of the events',
    currency        LowCardinality(String) COMMENT 'ISO 4217 alpha-3, empty for events without revenue',
    events          UInt64 COMMENT 'number of events',
    revenue_micros  Int128 COMMENT 'sum of money in micros of currency, refunds negative'
)
ENGINE = {{replicated}}SummingMergeTree((events, revenue_micros))
ORDER BY (app_id, day, event_name, currency)
SETTINGS {{dedupe_window}}, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
