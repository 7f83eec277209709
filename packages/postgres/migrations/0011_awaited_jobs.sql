-- Work that runs as long as somebody waits for it: what was asked, how far it has come, and who is still there.
ALTER TABLE jobs
  ADD COLUMN asked jsonb,
  ADD COLUMN progress json,
  ADD COLUMN awaited_until timestamptz,
  ADD COLUMN held_until timestamptz;
CREATE UNIQUE INDEX jobs_one_awaited ON jobs (kind) WHERE ended_at_ms IS NULL AND kind IN ('replay', 'dead_retry');
COMMENT ON COLUMN jobs.kind IS 'what is to be done: settle, replay, dead_retry';
COMMENT ON COLUMN jobs.begun_at_ms IS 'when it was last begun: after a crash settle is begun once more, and others have broken off';
COMMENT ON COLUMN jobs.asked IS 'what exactly is to be done';
COMMENT ON COLUMN jobs.progress IS 'how far it has come, as whoever waits is told; json keeps the order of its fields';
COMMENT ON COLUMN jobs.awaited_until IS 'whoever asked counts as gone from then on, unless a later time is written';
COMMENT ON COLUMN jobs.held_until IS 'whoever works on it counts as gone from then on, unless a later time is written';
