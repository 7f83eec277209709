CREATE TABLE companies (
  company_id text PRIMARY KEY,
  company_key text NOT NULL UNIQUE,
  name text NOT NULL,
  plan text NOT NULL CHECK (plan IN ('free', 'growth', 'scale', 'unlimited')),
  monthly_quota bigint CHECK (monthly_quota >= 0),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  created_at timestamptz NOT NULL,
  keep_ip_days integer NOT NULL DEFAULT 30 CHECK (keep_ip_days BETWEEN 1 AND 3650),
  keep_click_days integer NOT NULL DEFAULT 90 CHECK (keep_click_days BETWEEN 1 AND 90),
  keep_raw_days integer CHECK (keep_raw_days BETWEEN 1 AND 3650),
  clicks_deleted_before date,
  addresses_blanked_before date
);
COMMENT ON COLUMN companies.monthly_quota IS 'events per UTC month; null: unlimited';
COMMENT ON COLUMN companies.keep_ip_days IS 'days after which raw addresses and user agents are blanked';
COMMENT ON COLUMN companies.keep_click_days IS 'days after which clicks are deleted';
COMMENT ON COLUMN companies.keep_raw_days IS 'days after which raw events and their audit objects are deleted; null keeps them';
COMMENT ON COLUMN companies.clicks_deleted_before IS 'clicks of earlier UTC days were deleted; never goes back';
COMMENT ON COLUMN companies.addresses_blanked_before IS 'audit objects of earlier UTC days hold no address; never goes back';

CREATE TABLE apps (
  app_id text PRIMARY KEY,
  company_id text NOT NULL REFERENCES companies,
  app_key text NOT NULL UNIQUE,
  name text NOT NULL,
  platform text NOT NULL CHECK (platform IN ('ios', 'android')),
  bundle_id text,
  store_id text,
  provider_token text,
  signing_secret_key_id text NOT NULL,
  signing_secret_iv bytea NOT NULL CHECK (octet_length(signing_secret_iv) = 12),
  signing_secret_ciphertext bytea NOT NULL,
  signing_secret_tag bytea NOT NULL CHECK (octet_length(signing_secret_tag) = 16),
  created_at timestamptz NOT NULL,
  development_keys boolean NOT NULL DEFAULT false,
  owns_store_id boolean NOT NULL DEFAULT true
);
CREATE INDEX apps_company ON apps (company_id);
-- Item ids of postbacks are numbers, so leading zeros make no other id.
CREATE UNIQUE INDEX apps_owned_store_id ON apps (ltrim(store_id, '0'))
  WHERE platform = 'ios' AND owns_store_id AND ltrim(store_id, '0') <> '';
COMMENT ON COLUMN apps.signing_secret_key_id IS 'format and id of the master key that encrypted it, v2:1a2b3c4d (AES-256-GCM, additional data: purpose, company_id, app_id)';
COMMENT ON COLUMN apps.development_keys IS 'whether postbacks that a development key signed count; it acts when a report is read';
COMMENT ON COLUMN apps.owns_store_id IS 'false: another app has the postbacks of this store_id, which leads links alone';

CREATE TABLE old_signing_secrets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app_id text NOT NULL REFERENCES apps,
  ends_at timestamptz NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16)
);
CREATE INDEX old_signing_secrets_app ON old_signing_secrets (app_id, ends_at);
COMMENT ON TABLE old_signing_secrets IS 'signing secrets that a rotation replaced and that are valid until ends_at; each change comes with one of apps, which tells the gateways';
COMMENT ON COLUMN old_signing_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE server_keys (
  key_id text PRIMARY KEY,
  app_id text NOT NULL REFERENCES apps,
  key_sha256 bytea NOT NULL UNIQUE CHECK (octet_length(key_sha256) = 32),
  key_first4 text NOT NULL,
  key_last4 text NOT NULL,
  label text NOT NULL,
  allowed_events text[] NOT NULL,
  created_at timestamptz NOT NULL,
  revoked_at timestamptz,
  scopes text[] NOT NULL DEFAULT ARRAY['events:write', 'reports:read']
    CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['events:write', 'reports:read'])
);
CREATE INDEX server_keys_app ON server_keys (app_id, created_at);
COMMENT ON COLUMN server_keys.key_sha256 IS 'SHA-256 of the whole key text; the key itself is stored nowhere';
COMMENT ON COLUMN server_keys.key_first4 IS 'first 4 characters after srv_, for display';
COMMENT ON COLUMN server_keys.allowed_events IS 'empty: all events';
COMMENT ON COLUMN server_keys.scopes IS 'what the key may do';

CREATE TABLE admin_audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  detail jsonb NOT NULL,
  request_id text NOT NULL
);
COMMENT ON TABLE admin_audit_log IS 'who changed what; rows are never changed nor deleted, and hold no secret';

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: its rows are kept for ever', TG_OP, TG_TABLE_NAME;
END $$;
CREATE TRIGGER admin_audit_log_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON admin_audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Gateways keep credentials in memory: each change tells them the company whose credentials to ask for again.
CREATE FUNCTION notify_credentials_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed record := coalesce(NEW, OLD);
BEGIN
  IF TG_TABLE_NAME = 'server_keys' THEN
    PERFORM pg_notify('credentials_changed', (SELECT company_id FROM apps WHERE app_id = changed.app_id));
  ELSE
    PERFORM pg_notify('credentials_changed', changed.company_id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER companies_changed AFTER INSERT OR UPDATE OR DELETE ON companies
  FOR EACH ROW EXECUTE FUNCTION notify_credentials_changed();
CREATE TRIGGER apps_changed AFTER INSERT OR UPDATE OR DELETE ON apps
  FOR EACH ROW EXECUTE FUNCTION notify_credentials_changed();
CREATE TRIGGER server_keys_changed AFTER INSERT OR UPDATE OR DELETE ON server_keys
  FOR EACH ROW EXECUTE FUNCTION notify_credentials_changed();

CREATE TABLE master_key_check (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  bound_to text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL
);
COMMENT ON TABLE master_key_check IS 'one encrypted text; a process whose master key does not decrypt it refuses to start';
COMMENT ON COLUMN master_key_check.bound_to IS 'additional data of AES-256-GCM';
COMMENT ON COLUMN master_key_check.key_id IS 'format and id of the master key that encrypted it, as in apps';
