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
