-- Tries to deliver postbacks to partners, of 90 days. A set: a process that was killed may insert a try again. An erasure inserts each row
-- of an install again without what is personal (erased = 1), and deletes the first.
CREATE TABLE IF NOT EXISTS partner_deliveries_v1 {{on_cluster}}
(
    app_id           LowCardinality(String) COMMENT 'app that the install belongs to',
    day              Date COMMENT 'UTC date of tried_at_ms',
    delivery_key     UInt64 COMMENT 'hash that names the postback',
    try              UInt32 COMMENT 'number of the try, from 1',
    erased           UInt8 COMMENT '1: the install was erased, and the row names it no more',
    partner          LowCardinality(String) COMMENT 'partner that was notified',
    install_uuid     String COMMENT 'install that it was notified of, empty when erased' CODEC(ZSTD(1)),
    event_name       LowCardinality(String) COMMENT 'install, or the name of the event',
    idempotency_key  String COMMENT 'Idempotency-Key of the postback, empty when erased' CODEC(ZSTD(1)),
    dated_at_ms      Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds, 0 when erased' CODEC(ZSTD(1)),
    tried_at_ms      Int64 COMMENT 'when the try began, Unix epoch milliseconds' CODEC(ZSTD(1)),
    outcome          LowCardinality(String) COMMENT 'delivered, retry or dead',
    status           UInt16 COMMENT 'HTTP status, 0 without an answer',
    reason           LowCardinality(String) COMMENT 'why it was not delivered, empty when it was',
    elapsed_ms       UInt32 COMMENT 'milliseconds until the answer or the failure',
    answer           String COMMENT 'first 500 characters of the answer, empty when erased' CODEC(ZSTD(1)),
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (app_id, day, delivery_key, try, erased)
TTL day + INTERVAL 90 DAY
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024
