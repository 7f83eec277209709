-- What a row was worked out from, so that a report can add the money events that came since (docs/adr/0390).
ALTER TABLE settled_money_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS other_changes UInt64 DEFAULT 0 COMMENT 'changes of the stamp that did more than add money events' AFTER stamp,
    ADD COLUMN IF NOT EXISTS events UInt64 DEFAULT 0 COMMENT 'number of money events that the row was worked out from' AFTER other_changes,
    ADD COLUMN IF NOT EXISTS last_received_ms Int64 DEFAULT -1 COMMENT 'when the gateway received the last one of them, Unix epoch milliseconds; -1: not noted' AFTER events
