-- What was erased, by keyed hashes, so that nothing brings it back.
CREATE TABLE tombstones (
  number bigint PRIMARY KEY CHECK (number > 0),
  app_id text NOT NULL REFERENCES apps,
  kind text NOT NULL CHECK (kind IN ('install', 'click')),
  hash bytea NOT NULL CHECK (octet_length(hash) = 16),
  mark_ms bigint NOT NULL CHECK (mark_ms > 0)
);
COMMENT ON TABLE tombstones IS 'installs and clicks that were erased; rows are kept for ever, and a later request adds a later row';
COMMENT ON COLUMN tombstones.number IS '1, 2, 3, ... without gaps, in the order of their transactions';
COMMENT ON COLUMN tombstones.hash IS 'first 16 bytes of HMAC-SHA-256 with the salt of the company over erased-<kind>/<app_id>/<id>';
COMMENT ON COLUMN tombstones.mark_ms IS 'Unix epoch ms: what was received or is dated up to then is erased';

CREATE TRIGGER tombstones_are_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON tombstones
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
