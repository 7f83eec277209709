-- Every click on a tracking link and every hit of a honeypot. A set: a click that is written again changes nothing.
-- Whoever looks one up reads all of it, and each column costs a block of its own: most of a click is one text.
-- By month of the click, so that clicks expire by dropping parts. Ids begin with the time: a range of ids is a range of times.
CREATE TABLE IF NOT EXISTS clicks_raw_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app of the link',
    click_id         String COMMENT 'ours, UUIDv7' CODEC(ZSTD(1)),
    day              Date COMMENT 'UTC date of clicked_at_ms',
    clicked_at_ms    Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    partner          LowCardinality(String) COMMENT 'partner of the link',
    campaign         LowCardinality(String) COMMENT 'campaign of the link, empty when absent',
    lookback_hours   UInt16 COMMENT 'window of the link in hours, 0 when the window of the app holds',
    filtered_reason  LowCardinality(String) COMMENT 'why it attributes nothing, empty when it may',
    ip               String COMMENT 'address of the visitor' CODEC(ZSTD(1)),
    user_agent       String COMMENT 'User-Agent as sent' CODEC(ZSTD(1)),
    click            String COMMENT 'JSON: the record of clicks.recorded.v1 without ip and user_agent' CODEC(ZSTD(1)),
    match_keys       Array(UInt64) COMMENT 'hashes of what an install may match it by' CODEC(ZSTD(1)),
    topic            LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (app_id, click_id)
TTL day + toIntervalDay(90)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64, min_compress_block_size = 4096,
    max_compress_block_size = 4096
