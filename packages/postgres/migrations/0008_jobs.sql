-- Work that somebody asks a service for and waits for, or comes back to.
CREATE TABLE jobs (
  number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  kind text NOT NULL,
  asked_at_ms bigint NOT NULL,
  begun_at_ms bigint,
  ended_at_ms bigint,
  outcome jsonb
);
CREATE INDEX jobs_open ON jobs (kind, number) WHERE ended_at_ms IS NULL;
COMMENT ON TABLE jobs IS 'work that admin-api asks housekeeper for; rows that ended a day ago are removed';
COMMENT ON COLUMN jobs.kind IS 'what is to be done: settle';
COMMENT ON COLUMN jobs.begun_at_ms IS 'when it was last begun: after a crash it is begun once more';
COMMENT ON COLUMN jobs.outcome IS 'what the work came to, once it has ended';
