-- Work that is done once after an upgrade.
CREATE TABLE upgrade_jobs (
  name text PRIMARY KEY,
  begun_at_ms bigint NOT NULL,
  ended_at_ms bigint
);
COMMENT ON COLUMN upgrade_jobs.begun_at_ms IS 'Unix epoch milliseconds';
COMMENT ON COLUMN upgrade_jobs.ended_at_ms IS 'null while something may be left to do; it never begins again';
