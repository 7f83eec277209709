-- Every click on a tracking link and every hit of a honeypot. A set: a click that is written again changes nothing.
-- By month of the click, so that clicks expire by dropping parts. Ids begin with the time: a range of ids is a range of times.
CREATE TABLE IF NOT EXISTS clicks_raw_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app of the link',
    click_id         String COMMENT 'ours, UUIDv7' CODEC(ZSTD(1)),
    day              Date COMMENT 'UTC date of clicked_at_ms',
    clicked_at_ms    Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    company_id       LowCardinality(String) COMMENT 'company that owns the app',
    link_id          LowCardinality(String) COMMENT 'tracking link',
    partner          LowCardinality(String) COMMENT 'partner of the link',
    campaign         LowCardinality(String) COMMENT 'campaign of the link, empty when absent',
    ad_group         LowCardinality(String) COMMENT 'ad group of the link, empty when absent',
    creative         LowCardinality(String) COMMENT 'creative of the link, empty when absent',
    ext_click_id     String COMMENT 'click_id of the partner, empty when absent' CODEC(ZSTD(1)),
    sub1             String COMMENT 'free value of the partner, empty when absent' CODEC(ZSTD(1)),
    sub2             String COMMENT 'free value of the partner, empty when absent' CODEC(ZSTD(1)),
    sub3             String COMMENT 'free value of the partner, empty when absent' CODEC(ZSTD(1)),
    sub4             String COMMENT 'free value of the partner, empty when absent' CODEC(ZSTD(1)),
    sub5             String COMMENT 'free value of the partner, empty when absent' CODEC(ZSTD(1)),
    deep_link        String COMMENT 'deep link of the link, empty when absent' CODEC(ZSTD(1)),
    lookback_hours   UInt16 COMMENT 'window of the link in hours, 0 when the window of the app holds',
    filtered_reason  LowCardinality(String) COMMENT 'why it attributes nothing, empty when it may',
    ip               String COMMENT 'address of the visitor' CODEC(ZSTD(1)),
    country          LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2, empty when unknown',
    user_agent       String COMMENT 'User-Agent as sent' CODEC(ZSTD(1)),
    os               LowCardinality(String) COMMENT 'ios or android, empty for others',
    os_major         UInt16 COMMENT 'major version of the system, 0 when unknown',
    model            LowCardinality(String) COMMENT 'model of the device, empty when unknown',
    device_hashes    Array(String) COMMENT 'keyed hashes of the device ids in the query' CODEC(ZSTD(1)),
    match_keys       Array(UInt64) COMMENT 'hashes of what an install may match it by' CODEC(ZSTD(1)),
    topic           LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    partition       UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset          UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (app_id, click_id)
TTL day + INTERVAL 90 DAY
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 128, min_compress_block_size = 4096, max_compress_block_size = 4096
