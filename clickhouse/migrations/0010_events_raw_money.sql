-- Money once: whether the money of an event counts is decided when it is written. Rows from before have no transaction
-- key and count whenever they have money, as they did in the roll-ups.
ALTER TABLE events_raw_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS transaction_key UInt64 DEFAULT 0 COMMENT '64-bit hash of event_name and transaction_id, 0 without money or transaction' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS revenue_counts UInt8 DEFAULT revenue_micros IS NOT NULL COMMENT '1: its money counts; 0: no money, or of a transaction that an earlier event of its partition counted' CODEC(ZSTD(1))
