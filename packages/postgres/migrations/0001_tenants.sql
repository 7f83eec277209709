CREATE TABLE companies (
  company_id text PRIMARY KEY,
  company_key text NOT NULL UNIQUE,
  name text NOT NULL,
  plan text NOT NULL CHECK (plan IN ('free', 'growth', 'scale', 'unlimited')),
  monthly_quota bigint CHECK (monthly_quota >= 0),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  created_at timestamptz NOT NULL
);
COMMENT ON COLUMN companies.monthly_quota IS 'events per UTC month; null: unlimited';

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
  created_at timestamptz NOT NULL
);
CREATE INDEX apps_company ON apps (company_id);
COMMENT ON COLUMN apps.signing_secret_key_id IS 'id of the master key that encrypted it (AES-256-GCM, additional data: app_id)';

CREATE TABLE server_keys (
  key_id text PRIMARY KEY,
  app_id text NOT NULL REFERENCES apps,
  key_sha256 bytea NOT NULL UNIQUE CHECK (octet_length(key_sha256) = 32),
  key_first4 text NOT NULL,
  key_last4 text NOT NULL,
  label text NOT NULL,
  allowed_events text[] NOT NULL,
  created_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX server_keys_app ON server_keys (app_id, created_at);
COMMENT ON COLUMN server_keys.key_sha256 IS 'SHA-256 of the whole key text; the key itself is stored nowhere';
COMMENT ON COLUMN server_keys.key_first4 IS 'first 4 characters after srv_, for display';
COMMENT ON COLUMN server_keys.allowed_events IS 'empty: all events';

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
