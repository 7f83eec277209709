-- Clicks of days that are going to be deleted, counted for the report performance. Rows of a batch count once it has a mark; of several marks
-- of a day the first counts (docs/rules.md#performance-report).
CREATE TABLE IF NOT EXISTS clicks_frozen_v1 {{on_cluster}}
(
    app_id        LowCardinality(String) COMMENT 'app of the links',
    day           Date COMMENT 'UTC date of the clicks',
    batch         UUID COMMENT 'run that counted them',
    is_mark       UInt8 COMMENT '1: all rows of the batch are there, and the day is frozen',
    partner       LowCardinality(String) COMMENT 'partner of the link',
    campaign      LowCardinality(String) COMMENT 'campaign of the link, empty when absent',
    ad_group      LowCardinality(String) COMMENT 'ad group of the link, empty when absent',
    creative      LowCardinality(String) COMMENT 'creative of the link, empty when absent',
    link_id       LowCardinality(String) COMMENT 'tracking link',
    country       LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 of the visitor, empty when unknown',
    clicks        UInt64 COMMENT 'number of clicks that no filter kept',
    frozen_at_ms  Int64 COMMENT 'when they were counted, Unix epoch milliseconds' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, day, batch, is_mark, partner, campaign, ad_group, creative, link_id, country)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
