-- What ads cost, by day and what it was spent on. Each upload of a key is a row. The row with the greatest version counts whole: a
-- merge drops the others, and a row that is put in twice changes nothing. Read it with FINAL.
CREATE TABLE IF NOT EXISTS costs_v1 {{on_cluster}}
(
    app_id          LowCardinality(String) COMMENT 'app that the ads were for',
    day             Date COMMENT 'UTC date of the cost',
    partner         LowCardinality(String) COMMENT 'partner, as links have it',
    campaign        LowCardinality(String) COMMENT 'empty when the cost names none',
    ad_group        LowCardinality(String) COMMENT 'empty when the cost names none',
    country         LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 in upper case, empty when the cost names none',
    cost_micros     Int64 COMMENT 'money in micros of currency; 0 takes the cost out of reports' CODEC(ZSTD(1)),
    currency        LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    clicks          Nullable(UInt64) COMMENT 'clicks as the partner counts them, null when unknown' CODEC(ZSTD(1)),
    impressions     Nullable(UInt64) COMMENT 'impressions as the partner counts them, null when unknown' CODEC(ZSTD(1)),
    as_of_ms        Int64 COMMENT 'time of the figures by the upload, Unix epoch milliseconds, 0 without one' CODEC(ZSTD(1)),
    number          UInt64 COMMENT 'number of the upload, of one sequence for all apps' CODEC(ZSTD(1)),
    uploaded_at_ms  Int64 COMMENT 'when the gateway received the upload, Unix epoch milliseconds' CODEC(ZSTD(1)),
    version         UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(as_of_ms), 64), toUInt128(number))
        COMMENT 'order of uploads: as_of_ms, then number' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree(version)
ORDER BY (app_id, day, partner, campaign, ad_group, country)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192
