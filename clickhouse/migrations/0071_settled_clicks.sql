-- Clicks of a day that no filter kept, as settled_campaigns_v1.
CREATE TABLE IF NOT EXISTS settled_clicks_v1 {{on_cluster}}
(
    app_id                LowCardinality(String) COMMENT 'app that the row belongs to',
    day                   Date COMMENT 'UTC date of the clicks',
    stamp                 UInt64 COMMENT 'stamp of the day when it was worked out',
    `campaigns.partner`   Array(LowCardinality(String)) COMMENT 'partner of the link',
    `campaigns.campaign`  Array(LowCardinality(String)) COMMENT 'campaign of the link, empty when absent',
    `campaigns.clicks`    Array(UInt64) COMMENT 'number of clicks',
    `countries.partner`   Array(LowCardinality(String)) COMMENT 'partner of the link',
    `countries.campaign`  Array(LowCardinality(String)) COMMENT 'campaign of the link, empty when absent',
    `countries.country`   Array(LowCardinality(String)) COMMENT 'ISO 3166-1 alpha-2, empty when unknown',
    `countries.clicks`    Array(UInt64) COMMENT 'number of clicks'
)
ENGINE = {{replicated}}ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8
