-- Verdicts are raw data too: docs/raw.md#time-of-storing. Rows of before have 0, and no event_id.
ALTER TABLE receipts_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS event_id String DEFAULT ''
        COMMENT 'idempotency key as sent, empty for a row of before this column' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS stored_at_ms Int64 DEFAULT 0
        COMMENT 'when it counts as stored, Unix epoch milliseconds, 0 for a row of before this column' CODEC(ZSTD(1)),
    ADD INDEX IF NOT EXISTS stored_at stored_at_ms TYPE minmax GRANULARITY 1
