-- People who sign in, what they may do, and their sessions. No row here opens an account: secrets are hashes, or encrypted.
CREATE TABLE people (
  person_id text PRIMARY KEY,
  email text NOT NULL,
  email_key text NOT NULL UNIQUE,
  password text NOT NULL,
  created_at timestamptz NOT NULL
);
COMMENT ON COLUMN people.email IS 'as it was invited';
COMMENT ON COLUMN people.email_key IS 'the same in lower case: two spellings are one account';
COMMENT ON COLUMN people.password IS 'argon2id in the PHC string format';

CREATE TABLE memberships (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person_id text NOT NULL REFERENCES people ON DELETE CASCADE,
  company_id text REFERENCES companies,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'marketer', 'privacy', 'analyst', 'operator')),
  apps text[] CHECK (cardinality(apps) > 0),
  created_at timestamptz NOT NULL,
  CHECK ((role = 'operator') = (company_id IS NULL)),
  CHECK (apps IS NULL OR role NOT IN ('owner', 'operator'))
);
CREATE UNIQUE INDEX memberships_once ON memberships (person_id, coalesce(company_id, ''));
CREATE INDEX memberships_company ON memberships (company_id);
COMMENT ON COLUMN memberships.company_id IS 'null for an operator';
COMMENT ON COLUMN memberships.apps IS 'apps of the company that the role is limited to; null: all of it';

CREATE TABLE sessions (
  session_hash bytea PRIMARY KEY CHECK (octet_length(session_hash) = 32),
  session_id text NOT NULL UNIQUE,
  person_id text NOT NULL REFERENCES people ON DELETE CASCADE,
  complete boolean NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  began_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  proven_at timestamptz NOT NULL,
  ip text NOT NULL,
  agent text NOT NULL
);
CREATE INDEX sessions_person ON sessions (person_id);
CREATE INDEX sessions_seen ON sessions (seen_at);
COMMENT ON COLUMN sessions.session_hash IS 'SHA-256 of the token in the cookie';
COMMENT ON COLUMN sessions.complete IS 'false: it waits for the second factor';
COMMENT ON COLUMN sessions.attempts IS 'wrong codes of the second factor';
COMMENT ON COLUMN sessions.seen_at IS 'its last request, to the minute';
COMMENT ON COLUMN sessions.proven_at IS 'when the password was last given';

CREATE TABLE known_browsers (
  browser_hash bytea PRIMARY KEY CHECK (octet_length(browser_hash) = 32),
  person_id text NOT NULL REFERENCES people ON DELETE CASCADE,
  seen_at timestamptz NOT NULL
);
CREATE INDEX known_browsers_person ON known_browsers (person_id, seen_at);
COMMENT ON TABLE known_browsers IS 'browsers in which a person has signed in: the guesses of others do not slow them';
COMMENT ON COLUMN known_browsers.browser_hash IS 'SHA-256 of the token in the cookie';

CREATE TABLE one_time_links (
  link_hash bytea PRIMARY KEY CHECK (octet_length(link_hash) = 32),
  kind text NOT NULL CHECK (kind IN ('invitation', 'first', 'reset')),
  email text,
  email_key text,
  role text,
  company_id text REFERENCES companies,
  apps text[],
  second_factor boolean NOT NULL DEFAULT false,
  invited_by text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CHECK ((kind = 'first') = (email_key IS NULL))
);
CREATE INDEX one_time_links_email ON one_time_links (email_key);
COMMENT ON TABLE one_time_links IS 'invitations and resets that nobody used yet; a row goes when it is used';
COMMENT ON COLUMN one_time_links.link_hash IS 'SHA-256 of the secret in the link';
COMMENT ON COLUMN one_time_links.invited_by IS 'the person who invited; their open invitations end with a role of theirs';
COMMENT ON COLUMN one_time_links.second_factor IS 'of a reset: it removes the second factor too';

CREATE TABLE totp_secrets (
  person_id text PRIMARY KEY REFERENCES people ON DELETE CASCADE,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16),
  last_step bigint NOT NULL
);
COMMENT ON COLUMN totp_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps; additional data: purpose and person_id';
COMMENT ON COLUMN totp_secrets.last_step IS 'the newest time step of a code that was used: no code counts twice';

CREATE TABLE totp_offers (LIKE totp_secrets INCLUDING CONSTRAINTS);
ALTER TABLE totp_offers ADD PRIMARY KEY (person_id),
  ADD FOREIGN KEY (person_id) REFERENCES people ON DELETE CASCADE;
COMMENT ON TABLE totp_offers IS 'secrets that no code has confirmed yet';

CREATE TABLE recovery_codes (
  code_hash bytea PRIMARY KEY CHECK (octet_length(code_hash) = 32),
  person_id text NOT NULL REFERENCES people ON DELETE CASCADE
);
CREATE INDEX recovery_codes_person ON recovery_codes (person_id);
COMMENT ON COLUMN recovery_codes.code_hash IS 'SHA-256 of person and code: 120 random bits need no salt';

CREATE FUNCTION notify_people_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM pg_notify('people_changed', coalesce(NEW.person_id, OLD.person_id));
  RETURN NULL;
END $function$;
CREATE TRIGGER sessions_changed AFTER DELETE OR UPDATE OF complete, proven_at ON sessions
  FOR EACH ROW EXECUTE FUNCTION notify_people_changed();
CREATE TRIGGER memberships_changed AFTER INSERT OR DELETE OR UPDATE ON memberships
  FOR EACH ROW EXECUTE FUNCTION notify_people_changed();

-- The audit log: whose it is, from where, and what was before. It is kept for two years.
ALTER TABLE admin_audit_log
  ADD COLUMN company_id text,
  ADD COLUMN person_id text,
  ADD COLUMN ip text,
  ADD COLUMN before jsonb;
COMMENT ON COLUMN admin_audit_log.company_id IS 'the company whose thing it was; null for what is above companies';
COMMENT ON COLUMN admin_audit_log.actor IS 'email of a person, or the admin token';
COMMENT ON COLUMN admin_audit_log.before IS 'what the change replaced; null where nothing was';
COMMENT ON COLUMN admin_audit_log.detail IS 'what it became';
COMMENT ON TABLE admin_audit_log IS 'who changed what; rows are never changed, deleted after two years, and hold no secret';

CREATE FUNCTION audit_company(thing text) RETURNS text LANGUAGE sql STABLE AS $function$
  SELECT coalesce(
    (SELECT company_id FROM companies WHERE company_id = thing),
    (SELECT company_id FROM apps WHERE app_id = thing),
    (SELECT a.company_id FROM server_keys k JOIN apps a USING (app_id) WHERE k.key_id = thing),
    (SELECT a.company_id FROM links l JOIN apps a USING (app_id) WHERE l.link_id = thing))
$function$;

DROP TRIGGER admin_audit_log_is_kept ON admin_audit_log;
UPDATE admin_audit_log SET company_id = audit_company(subject), ip = nullif(split_part(actor, '@', 2), '')
  WHERE actor LIKE 'admin-token@%' OR audit_company(subject) IS NOT NULL;
CREATE INDEX admin_audit_log_company ON admin_audit_log (company_id, id);
CREATE INDEX admin_audit_log_at ON admin_audit_log (at);
CREATE FUNCTION refuse_early_delete() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF OLD.at >= now() - interval '2 years' THEN
    RAISE EXCEPTION 'DELETE of % is refused: its rows are kept for two years', TG_TABLE_NAME;
  END IF;
  RETURN OLD;
END $function$;
CREATE TRIGGER admin_audit_log_is_kept BEFORE UPDATE OR TRUNCATE ON admin_audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER admin_audit_log_is_kept_for_years BEFORE DELETE ON admin_audit_log
  FOR EACH ROW EXECUTE FUNCTION refuse_early_delete();
