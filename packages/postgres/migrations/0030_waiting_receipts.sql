-- A store that is away leaves many receipts that wait for it: a look for what can be judged now must not read them all.
ALTER TABLE due_receipts ADD COLUMN reason text;
COMMENT ON COLUMN due_receipts.reason IS 'why the last try had no final verdict; null before one ended';
DROP INDEX due_receipts_due;
CREATE INDEX due_receipts_open ON due_receipts (app_id, next_try_ms) WHERE tries = 0 OR lease IS NOT NULL OR asks IS NULL;
CREATE INDEX due_receipts_waiting ON due_receipts (app_id, asks, next_try_ms) WHERE tries > 0 AND lease IS NULL AND asks IS NOT NULL;
CREATE INDEX due_receipts_by_age ON due_receipts (app_id, tried_from_ms) WHERE tries > 0;
