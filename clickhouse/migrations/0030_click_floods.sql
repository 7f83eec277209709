-- Whether a source flooded on a day (docs/rules.md#fraud-flags). The newest row of a source and day counts.
CREATE TABLE IF NOT EXISTS click_floods_v1 {{on_cluster}}
(
    app_id         LowCardinality(String) COMMENT 'app of the links',
    day            Date COMMENT 'UTC date of the clicks',
    partner        LowCardinality(String) COMMENT 'partner of the source',
    campaign       LowCardinality(String) COMMENT 'campaign of the source, empty when absent',
    flooded        UInt8 COMMENT '1 when the source flooded',
    clicks         UInt64 COMMENT 'clicks of the source that may attribute',
    conversions    UInt64 COMMENT 'new installs that these clicks brought',
    worked_out_ms  Int64 COMMENT 'when this was worked out, Unix epoch milliseconds'
)
ENGINE = {{replicated}}ReplacingMergeTree(worked_out_ms)
ORDER BY (app_id, day, partner, campaign)
TTL day + toIntervalDay(120)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
