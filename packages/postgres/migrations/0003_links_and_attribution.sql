CREATE TABLE links (
  link_id text PRIMARY KEY CHECK (link_id ~ '^[A-Za-z0-9]{12}$'),
  app_id text NOT NULL REFERENCES apps,
  partner text NOT NULL CHECK (partner ~ '^[a-z0-9_-]{1,64}$' AND partner <> 'organic'),
  campaign text,
  ad_group text,
  creative text,
  fallback_url text,
  deep_link text,
  countries text[] CHECK (cardinality(countries) > 0),
  lookback_hours integer CHECK (lookback_hours BETWEEN 1 AND 720),
  honeypot boolean NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL
);
CREATE INDEX links_app ON links (app_id, created_at);
COMMENT ON COLUMN links.link_id IS 'random: who knows one link can not guess another';
COMMENT ON COLUMN links.countries IS 'ISO 3166-1 alpha-2; null: all';
COMMENT ON COLUMN links.lookback_hours IS 'click window of this link; null: that of the app';

-- A channel beside credentials_changed, so that gateways of events keep what they have while links are made by the thousand.
CREATE FUNCTION notify_attribution_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('attribution_changed', (SELECT company_id FROM apps WHERE app_id = coalesce(NEW.app_id, OLD.app_id)));
  RETURN NULL;
END $$;
CREATE TRIGGER links_changed AFTER INSERT OR UPDATE OR DELETE ON links
  FOR EACH ROW EXECUTE FUNCTION notify_attribution_changed();

CREATE TABLE link_secrets (
  app_id text PRIMARY KEY REFERENCES apps,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16)
);
COMMENT ON TABLE link_secrets IS 'signs the click ids of an app; made by the first service that needs it, never replaced while it can be read';
COMMENT ON COLUMN link_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE company_salts (
  company_id text PRIMARY KEY REFERENCES companies,
  key_id text NOT NULL,
  iv bytea NOT NULL CHECK (octet_length(iv) = 12),
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL CHECK (octet_length(tag) = 16)
);
COMMENT ON TABLE company_salts IS 'keys the hashes of device ids of a company; made by the first service that needs it, never replaced while it can be read';
COMMENT ON COLUMN company_salts.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE attribution_settings (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app_id text NOT NULL REFERENCES apps,
  valid_from timestamptz NOT NULL,
  click_window_hours integer NOT NULL CHECK (click_window_hours > 0),
  probabilistic boolean NOT NULL,
  probabilistic_window_hours integer NOT NULL CHECK (probabilistic_window_hours > 0),
  reinstall_days integer NOT NULL CHECK (reinstall_days > 0)
);
CREATE INDEX attribution_settings_app ON attribution_settings (app_id, valid_from, id);
COMMENT ON TABLE attribution_settings IS 'how an app matched clicks with installs from valid_from on; before its first row the defaults hold';
COMMENT ON COLUMN attribution_settings.valid_from IS 'acts on installs that are received at this time or later';

CREATE TRIGGER attribution_settings_are_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON attribution_settings
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER attribution_settings_changed AFTER INSERT ON attribution_settings
  FOR EACH ROW EXECUTE FUNCTION notify_attribution_changed();
