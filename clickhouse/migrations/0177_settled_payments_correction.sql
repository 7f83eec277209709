-- Earlier rows have as many zeros as events: the engine fills the columns of one list to one length.
ALTER TABLE settled_payments_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS `events.correction_ms` Array(Int64) COMMENT 'what the age of the event adds to ts_ms, in milliseconds' CODEC(ZSTD(1)) AFTER `events.ts_ms`
