ALTER TABLE apps ADD COLUMN valid_receipts_only boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN apps.valid_receipts_only IS 'whether money of unverified receipts counts in no report; it acts when a report is read';
