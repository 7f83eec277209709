-- Windows of raw data go by the time of storing: docs/raw.md#time-of-storing. Rows of before have 0.
ALTER TABLE installs_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS stored_at_ms Int64 DEFAULT 0
        COMMENT 'when it counts as stored, Unix epoch milliseconds, 0 for a row of before this column' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS stored_index UInt32 DEFAULT 0
        COMMENT 'order of decisions that were stored at the same time' CODEC(ZSTD(1))
