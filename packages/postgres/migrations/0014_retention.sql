ALTER TABLE companies
  ADD COLUMN keep_ip_days integer NOT NULL DEFAULT 30 CHECK (keep_ip_days BETWEEN 1 AND 3650),
  ADD COLUMN keep_click_days integer NOT NULL DEFAULT 90 CHECK (keep_click_days BETWEEN 1 AND 90),
  ADD COLUMN keep_raw_days integer CHECK (keep_raw_days BETWEEN 1 AND 3650),
  ADD COLUMN clicks_deleted_before date,
  ADD COLUMN addresses_blanked_before date;
COMMENT ON COLUMN companies.addresses_blanked_before IS 'audit objects of earlier UTC days hold no address; never goes back';
COMMENT ON COLUMN companies.clicks_deleted_before IS 'clicks of earlier UTC days were deleted; never goes back';
COMMENT ON COLUMN companies.keep_ip_days IS 'days after which raw addresses and user agents are blanked';
COMMENT ON COLUMN companies.keep_click_days IS 'days after which clicks are deleted';
COMMENT ON COLUMN companies.keep_raw_days IS 'days after which raw events and their audit objects are deleted; null keeps them';

CREATE TABLE retention_runs (
  day date PRIMARY KEY,
  ended_at timestamptz NOT NULL,
  done jsonb NOT NULL
);
COMMENT ON TABLE retention_runs IS 'nightly runs of retention that ended well, by the UTC day up to which they acted';
COMMENT ON COLUMN retention_runs.done IS 'what the run removed: rows by table, and audit objects';
