-- Names of the events of a batch that goes on: a table that is filled again leaves them out, however many are deleted by then.
ALTER TABLE erased_events_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS row_keys Array(UInt64) COMMENT '64-bit hashes of log position and key of the events; empty once done' AFTER revenue_micros
