-- What was erased, by keyed hashes, so that nothing brings it back.
CREATE TABLE tombstones (
  number bigint PRIMARY KEY CHECK (number > 0),
  app_id text NOT NULL REFERENCES apps,
  kind text NOT NULL CHECK (kind IN ('install', 'click')),
  hash bytea NOT NULL CHECK (octet_length(hash) = 16),
  mark_ms bigint NOT NULL CHECK (mark_ms > 0)
);
COMMENT ON TABLE tombstones IS 'installs and clicks that were erased; rows are kept for ever, and a later request adds a later row';
COMMENT ON COLUMN tombstones.number IS 'in the order of their transactions, no smaller than the microseconds of the Unix epoch then: no number is used twice, also not after PostgreSQL was put back';
COMMENT ON COLUMN tombstones.hash IS 'first 16 bytes of HMAC-SHA-256 with the salt of the company over erased-<kind>/<app_id>/<id>';
COMMENT ON COLUMN tombstones.mark_ms IS 'Unix epoch ms: what was received or is dated up to then is erased';

CREATE TRIGGER tombstones_are_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON tombstones
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Audit objects that the next run of the eraser has to rewrite.
CREATE TABLE erased_objects (
  app_id text NOT NULL REFERENCES apps,
  audit_key text NOT NULL,
  notes integer NOT NULL DEFAULT 1,
  PRIMARY KEY (app_id, audit_key)
);
COMMENT ON TABLE erased_objects IS 'audit objects of requests with events that a consumer dropped as erased; the next run rewrites them and removes the row';
COMMENT ON COLUMN erased_objects.audit_key IS 'as in the answer to the request: without the prefix of the app';
COMMENT ON COLUMN erased_objects.notes IS 'how often it was noted: a run removes only what it has seen';

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
  unreadable bigint NOT NULL DEFAULT 0,
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
COMMENT ON COLUMN erasure_requests.unreadable IS 'number of the newest unreadable folder of its app when the audit store was last rewritten: the erasure is completed when none up to it is left';
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

CREATE TABLE unreadable_objects (
  number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  app_id text NOT NULL REFERENCES apps,
  folder text NOT NULL,
  objects bigint NOT NULL CHECK (objects > 0),
  UNIQUE (app_id, folder)
);
COMMENT ON TABLE unreadable_objects IS 'folders of the audit store with objects that an erasure could not read or rewrite; each run tries again, and removes the row when it could';
COMMENT ON COLUMN unreadable_objects.app_id IS 'app whose erasures they hold up; archives of clicks are of several apps';
COMMENT ON COLUMN unreadable_objects.objects IS 'how many there were at the last try';
