-- New installs of a day that had an event in the 24 hours from n x 24 hours after the install on, as settled_campaigns_v1.
CREATE TABLE IF NOT EXISTS settled_campaign_cohorts_v1 {{on_cluster}}
(
    app_id                LowCardinality(String) COMMENT 'app that the row belongs to',
    day                   Date COMMENT 'UTC date of the installs',
    n                     UInt16 COMMENT 'number of the 24 hours, from 0 on',
    stamp                 UInt64 COMMENT 'stamp of the day and of the days of the windows that it was worked out at',
    `countries.partner`   Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `countries.campaign`  Array(LowCardinality(String)) COMMENT 'campaign of the click, empty when absent',
    `countries.country`   Array(LowCardinality(String)) COMMENT 'ISO 3166-1 alpha-2, empty when unknown',
    `countries.retained`  Array(UInt64) COMMENT 'installs with an event in these 24 hours'
)
ENGINE = {{replicated}}ReplacingMergeTree(stamp)
ORDER BY (app_id, day, n)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8
