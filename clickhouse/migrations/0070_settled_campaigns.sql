-- Installs of a day by what the report performance is asked for most, in a row as settled_installs_v1 has. A row is long: small granules.
CREATE TABLE IF NOT EXISTS settled_campaigns_v1 {{on_cluster}}
(
    app_id                     LowCardinality(String) COMMENT 'app that the row belongs to',
    day                        Date COMMENT 'UTC date of the installs',
    stamp                      UInt64 COMMENT 'stamp of the day when it was worked out',
    `campaigns.partner`        Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `campaigns.campaign`       Array(LowCardinality(String)) COMMENT 'campaign of the click, empty when absent',
    `campaigns.installs`       Array(Int64) COMMENT 'number of new installs',
    `campaigns.reinstalls`     Array(Int64) COMMENT 'number of reinstalls',
    `campaigns.fraud_flagged`  Array(Int64) COMMENT 'number of new installs with a fraud flag',
    `countries.partner`        Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `countries.campaign`       Array(LowCardinality(String)) COMMENT 'campaign of the click, empty when absent',
    `countries.country`        Array(LowCardinality(String)) COMMENT 'ISO 3166-1 alpha-2, empty when unknown',
    `countries.installs`       Array(Int64) COMMENT 'number of new installs',
    `countries.reinstalls`     Array(Int64) COMMENT 'number of reinstalls',
    `countries.fraud_flagged`  Array(Int64) COMMENT 'number of new installs with a fraud flag'
)
ENGINE = {{replicated}}ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8
