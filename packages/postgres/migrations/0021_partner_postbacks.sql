-- How partners are notified of installs and events: each change is a version, the newest of a partner holds.
CREATE TABLE partner_postbacks (
  settings_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app_id text NOT NULL REFERENCES apps,
  partner text NOT NULL CHECK (partner ~ '^[a-z0-9_-]{1,64}$' AND partner <> 'organic'),
  valid_from_ms bigint NOT NULL,
  postback_url text,
  method text NOT NULL DEFAULT 'GET' CHECK (method IN ('GET', 'POST')),
  events text[] NOT NULL DEFAULT '{}',
  flagged text NOT NULL DEFAULT 'skip' CHECK (flagged IN ('skip', 'send'))
);
CREATE INDEX partner_postbacks_in_order ON partner_postbacks (app_id, partner, valid_from_ms, settings_id);
CREATE TRIGGER partner_postbacks_are_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON partner_postbacks
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
COMMENT ON TABLE partner_postbacks IS 'versions of the settings of partners; rows are kept';
COMMENT ON COLUMN partner_postbacks.valid_from_ms IS 'Unix epoch ms: it acts on what is decided from then on';
COMMENT ON COLUMN partner_postbacks.postback_url IS 'template; null: the partner was removed';

CREATE TABLE partner_secrets (
  settings_id bigint PRIMARY KEY REFERENCES partner_postbacks,
  app_id text NOT NULL REFERENCES apps,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16)
);
COMMENT ON TABLE partner_secrets IS 'signs the postbacks of a version of settings';
COMMENT ON COLUMN partner_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps';

-- What partners are owed, worked off by any forwarder. A row outlives its delivery: its key says that nothing more is owed.
CREATE TABLE due_postbacks (
  app_id text NOT NULL,
  install_uuid text NOT NULL,
  event_key text NOT NULL,
  partner text NOT NULL,
  settings_id bigint NOT NULL REFERENCES partner_postbacks,
  idempotency_key uuid NOT NULL DEFAULT gen_random_uuid(),
  state text NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'delivered', 'dead', 'erased')),
  event_name text NOT NULL,
  content text NOT NULL,
  dated_at_ms bigint NOT NULL,
  owed_at_ms bigint NOT NULL,
  give_up_ms bigint NOT NULL,
  next_try_ms bigint NOT NULL,
  leased boolean NOT NULL DEFAULT false,
  tries integer NOT NULL DEFAULT 0,
  reason text,
  ended_at_ms bigint,
  PRIMARY KEY (app_id, install_uuid, event_key, partner)
);
-- An event is owed to one partner, whichever verdict comes later.
CREATE UNIQUE INDEX due_postbacks_events ON due_postbacks (app_id, install_uuid, event_key) WHERE event_key <> 'install';
CREATE INDEX due_postbacks_due ON due_postbacks (app_id, partner, next_try_ms) WHERE state = 'due';
CREATE INDEX due_postbacks_dead ON due_postbacks (app_id, partner, ended_at_ms) WHERE state = 'dead';
CREATE INDEX due_postbacks_old ON due_postbacks (owed_at_ms);
COMMENT ON TABLE due_postbacks IS 'postbacks that partners are owed, of the last 14 days: one row each for ever, whatever is read again';
COMMENT ON COLUMN due_postbacks.event_key IS 'install, test/ and a number, or the day and the key of an event';
COMMENT ON COLUMN due_postbacks.content IS 'JSON of the values of the macros: they never change; empty once it was delivered';
COMMENT ON COLUMN due_postbacks.dated_at_ms IS 'the earlier of receipt and date of its event, Unix epoch ms: an erasure takes what is dated up to its mark';
COMMENT ON COLUMN due_postbacks.give_up_ms IS 'Unix epoch ms: no try begins later';
COMMENT ON COLUMN due_postbacks.next_try_ms IS 'Unix epoch ms; while leased the end of the lease';
COMMENT ON COLUMN due_postbacks.leased IS 'a process tries it now, or was killed in the try';
COMMENT ON COLUMN due_postbacks.tries IS 'names the newest try: another one changes nothing any more';
