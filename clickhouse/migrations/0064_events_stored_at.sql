-- Windows of raw data go by the time of storing: docs/raw.md#time-of-storing. Rows of before have 0. The granules of a day hold
-- what was stored on that day and a few late ones, so the index leaves out nearly all other days.
ALTER TABLE events_raw_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS stored_at_ms Int64 DEFAULT 0
        COMMENT 'when it counts as stored, Unix epoch milliseconds, 0 for a row of before this column' CODEC(ZSTD(1)),
    ADD INDEX IF NOT EXISTS stored_at stored_at_ms TYPE minmax GRANULARITY 1
