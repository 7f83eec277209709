-- Server keys may read raw rows. A window of raw rows goes by the time of storing: docs/raw.md#time-of-storing.
ALTER TABLE server_keys
  DROP CONSTRAINT server_keys_scopes_check,
  ADD CONSTRAINT server_keys_scopes_check
    CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['events:write', 'reports:read', 'costs:write', 'attribution:write', 'raw:read']);

CREATE TABLE raw_clock (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sealed_ms bigint NOT NULL DEFAULT 0,
  epoch uuid NOT NULL DEFAULT gen_random_uuid()
);
COMMENT ON TABLE raw_clock IS 'one row: up to when readers of raw rows were promised that nothing comes';
COMMENT ON COLUMN raw_clock.sealed_ms IS 'Unix epoch ms; a stamp that is given later is greater';
COMMENT ON COLUMN raw_clock.epoch IS 'a new one when tables lost rows that readers may have: they read all again';
INSERT INTO raw_clock DEFAULT VALUES;

CREATE TABLE raw_stamps (
  consumer text NOT NULL,
  topic text NOT NULL,
  partition integer NOT NULL CHECK (partition >= 0),
  newest_ms bigint NOT NULL,
  open_ms bigint[] NOT NULL,
  PRIMARY KEY (consumer, topic, partition)
);
COMMENT ON TABLE raw_stamps IS 'times at which rows of batches count as stored, by partition';
COMMENT ON COLUMN raw_stamps.newest_ms IS 'the greatest that was given, Unix epoch ms';
COMMENT ON COLUMN raw_stamps.open_ms IS 'those of batches that are not known to be over: what is complete ends before the least of them';

CREATE TABLE raw_erasures (
  app_id text NOT NULL REFERENCES apps,
  stored_at_ms bigint NOT NULL,
  install_uuid text NOT NULL,
  click_id text NOT NULL,
  erased_up_to_ms bigint NOT NULL
);
COMMENT ON TABLE raw_erasures IS 'what was erased in the last 62 days, so that copies of raw rows can follow';
COMMENT ON COLUMN raw_erasures.stored_at_ms IS 'when its rows were gone, Unix epoch ms: a stamp as those of raw_stamps';
COMMENT ON COLUMN raw_erasures.install_uuid IS 'empty for a click';
COMMENT ON COLUMN raw_erasures.click_id IS 'empty for an install';
COMMENT ON COLUMN raw_erasures.erased_up_to_ms IS 'what was received or is dated up to then is erased, Unix epoch ms';
CREATE INDEX raw_erasures_in_order ON raw_erasures (app_id, stored_at_ms);
CREATE INDEX raw_erasures_by_age ON raw_erasures (stored_at_ms);
