-- The row of a day that goes on changing leaves out what was received just before, and is not the whole day then.
ALTER TABLE settled_money_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS left_out UInt64 DEFAULT 0 COMMENT 'number of money events that were there and are not counted' AFTER last_received_ms
