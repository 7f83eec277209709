-- Changes that are no `added` change figures of what was there before (docs/adr/0390).
ALTER TABLE report_stamps_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS added SimpleAggregateFunction(sum, UInt64) DEFAULT 0 COMMENT 'number of those changes that only added money events' AFTER rows
