-- Every accepted event, once. Source of all roll-ups; serves erasure, explain and partly covered days of reports.
-- Not partitioned: a batch may hold days from 2010 to tomorrow, and one insert must be one part (docs/adr/0020).
-- A part of a usual insert keeps its columns in one file, not in two files each: all files are synced before the insert is answered
-- (docs/adr/0102). With the base of 10, rows are rewritten half as often on their way into large parts (docs/performance.md, "Merges").
-- Money once: whether the money of an event counts is decided when it is written.
CREATE TABLE IF NOT EXISTS events_raw_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the event belongs to',
    day              Date COMMENT 'UTC date of ts_ms',
    install_uuid     String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    ts_ms            Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    event_name       LowCardinality(String) COMMENT 'name of the event',
    event_id         String COMMENT 'idempotency key as sent' CODEC(ZSTD(1)),
    event_key        UInt64 COMMENT '64-bit hash of the idempotency key',
    key_day          Date COMMENT 'day, or 1970-01-01 for an install, whose key holds for ever',
    user_id          String COMMENT 'user id of the customer, empty when absent' CODEC(ZSTD(1)),
    revenue_micros   Nullable(Int64) COMMENT 'money in micros of currency, refunds negative; null without revenue' CODEC(ZSTD(1)),
    currency         LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case, empty without revenue',
    transaction_id   String COMMENT 'empty when absent' CODEC(ZSTD(1)),
    product_id       String COMMENT 'empty when absent' CODEC(ZSTD(1)),
    props            String COMMENT 'JSON object' CODEC(ZSTD(1)),
    device           String COMMENT 'JSON object' CODEC(ZSTD(1)),
    extra            String COMMENT 'JSON object of all other top-level fields' CODEC(ZSTD(1)),
    platform         LowCardinality(String) COMMENT 'ios or android',
    source           LowCardinality(String) COMMENT 'sdk, s2s or bulk',
    sdk              LowCardinality(String) COMMENT 'X-Service-Sdk as sent, empty when absent',
    sdk_platform     LowCardinality(String) COMMENT 'X-Service-Platform as sent, empty when absent',
    ip               String COMMENT 'address of the sender' CODEC(ZSTD(1)),
    user_agent       String COMMENT 'User-Agent as sent' CODEC(ZSTD(1)),
    company_id       LowCardinality(String) COMMENT 'company that owns the app',
    audit_key        String COMMENT 'audit object that holds the request' CODEC(ZSTD(1)),
    received_at_ms   Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    sent_at_ms       Int64 COMMENT 'client clock when sent, Unix epoch milliseconds, 0 when absent' CODEC(ZSTD(1)),
    topic            LowCardinality(String) COMMENT 'log position: topic',
    partition        UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset           UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    transaction_key  UInt64 DEFAULT 0 COMMENT '64-bit hash of event_name and transaction_id, 0 without money or transaction' CODEC(ZSTD(1)),
    revenue_counts   UInt8 DEFAULT revenue_micros IS NOT NULL COMMENT '1: its money counts; 0: no money, or of a transaction that an earlier event of its partition counted' CODEC(ZSTD(1)),
    correction_ms    Int64 DEFAULT 0 COMMENT 'what the age of the event adds to ts_ms: the error of the clock of an SDK, in milliseconds' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}MergeTree
ORDER BY (app_id, day, install_uuid, ts_ms)
SETTINGS {{dedupe_window}}, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1,
    min_bytes_for_wide_part = 67108864, merge_selector_base = 10
