CREATE TABLE retention_runs (
  day date PRIMARY KEY,
  ended_at timestamptz NOT NULL,
  done jsonb NOT NULL
);
COMMENT ON TABLE retention_runs IS 'nightly runs of retention that ended well, by the UTC day up to which they acted';
COMMENT ON COLUMN retention_runs.done IS 'what the run removed: rows by table, and audit objects';
