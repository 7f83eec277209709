CREATE TABLE erasure_requests (
  app_id text NOT NULL REFERENCES apps,
  install_hash bytea NOT NULL CHECK (octet_length(install_hash) = 16),
  install_uuid text,
  asked_by text NOT NULL CHECK (asked_by IN ('sdk', 'admin')),
  requested_at_ms bigint NOT NULL CHECK (requested_at_ms > 0),
  erased_up_to_ms bigint NOT NULL DEFAULT 0,
  mark_ms bigint,
  tombstones bigint,
  emptied_at_ms bigint,
  marks jsonb NOT NULL DEFAULT '[]',
  drained_at_ms bigint,
  rows jsonb NOT NULL DEFAULT '{}',
  objects_rewritten bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (app_id, install_hash)
);
COMMENT ON TABLE erasure_requests IS 'requests to erase an install; once it is erased, a keyed hash is all that is left of its id';
COMMENT ON COLUMN erasure_requests.install_hash IS 'hash of its tombstones';
COMMENT ON COLUMN erasure_requests.install_uuid IS 'null once everything is erased and nothing else is queued';
COMMENT ON COLUMN erasure_requests.asked_by IS 'sdk: waits behind admin';
COMMENT ON COLUMN erasure_requests.requested_at_ms IS 'greatest of all requests, Unix epoch ms';
COMMENT ON COLUMN erasure_requests.erased_up_to_ms IS 'mark of the last erasure that was completed, Unix epoch ms';
COMMENT ON COLUMN erasure_requests.mark_ms IS 'mark of the erasure that goes on, Unix epoch ms; null without one';
COMMENT ON COLUMN erasure_requests.tombstones IS 'number of the newest tombstone when the erasure began';
COMMENT ON COLUMN erasure_requests.emptied_at_ms IS 'when this erasure had emptied the tables, Unix epoch ms; null before';
COMMENT ON COLUMN erasure_requests.marks IS 'completed erasures: requested_at_ms, erased_up_to_ms';
COMMENT ON COLUMN erasure_requests.drained_at_ms IS 'when the tables were last emptied, Unix epoch ms';
COMMENT ON COLUMN erasure_requests.rows IS 'rows taken away, by table, over all erasures';
CREATE INDEX erasure_requests_open ON erasure_requests (app_id, asked_by, requested_at_ms) WHERE install_uuid IS NOT NULL;

CREATE TABLE erasure_runs (
  run bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  night date UNIQUE,
  asked_at_ms bigint NOT NULL,
  begun_at_ms bigint,
  ended_at_ms bigint,
  drained bigint NOT NULL DEFAULT 0,
  rows jsonb NOT NULL DEFAULT '{}',
  batches jsonb NOT NULL DEFAULT '[]'
);
COMMENT ON TABLE erasure_runs IS 'runs of the eraser, one after the other; a run that was broken off goes on';
COMMENT ON COLUMN erasure_runs.night IS 'UTC date of a nightly run, null for one that somebody asked for';
COMMENT ON COLUMN erasure_runs.drained IS 'installs whose rows are gone';
COMMENT ON COLUMN erasure_runs.batches IS 'requests and rows of each batch, up to a limit';
CREATE TABLE erasure_clicks (
  app_id text NOT NULL REFERENCES apps,
  click_id text NOT NULL,
  install_uuid text NOT NULL,
  PRIMARY KEY (app_id, click_id)
);
COMMENT ON TABLE erasure_clicks IS 'erased clicks whose archives are not rewritten yet';

CREATE INDEX erasure_runs_open ON erasure_runs (run) WHERE ended_at_ms IS NULL;

CREATE TABLE erasure_batches (
  batch uuid PRIMARY KEY,
  app_id text NOT NULL UNIQUE REFERENCES apps,
  run bigint NOT NULL REFERENCES erasure_runs,
  tombstones bigint NOT NULL,
  plan jsonb NOT NULL
);
COMMENT ON TABLE erasure_batches IS 'what the eraser is about to do: a repeated batch does what stands here and looks nothing up anew';
COMMENT ON COLUMN erasure_batches.tombstones IS 'no consumer may be at work with fewer than these';
