-- Earlier events have none: their age is counted by their own time (docs/rules.md#age-of-an-event).
ALTER TABLE events_raw_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS correction_ms Int64 DEFAULT 0 COMMENT 'what the age of the event adds to ts_ms: the error of the clock of an SDK, in milliseconds' CODEC(ZSTD(1))
