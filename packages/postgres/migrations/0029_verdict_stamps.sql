-- Times at which verdicts of receipts count as stored, for readers of raw rows: docs/raw.md#time-of-storing.
CREATE TABLE verdict_stamps (
  app_id text PRIMARY KEY REFERENCES apps,
  newest_ms bigint NOT NULL,
  open_ms bigint
);
COMMENT ON TABLE verdict_stamps IS 'times at which verdicts of receipts count as stored, by app';
COMMENT ON COLUMN verdict_stamps.newest_ms IS 'the greatest that was given, Unix epoch ms';
COMMENT ON COLUMN verdict_stamps.open_ms IS 'that of verdicts which are being written; null: none are';
