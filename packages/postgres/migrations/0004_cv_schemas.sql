CREATE TABLE cv_schemas (
  app_id text NOT NULL REFERENCES apps,
  version integer NOT NULL CHECK (version > 0),
  published_at timestamptz NOT NULL,
  postbacks json NOT NULL,
  PRIMARY KEY (app_id, version)
);
COMMENT ON TABLE cv_schemas IS 'what the conversion values of an app stand for; the newest version is live';
COMMENT ON COLUMN cv_schemas.version IS 'from 1 without gaps';
COMMENT ON COLUMN cv_schemas.published_at IS 'never before that of the version before';
COMMENT ON COLUMN cv_schemas.postbacks IS 'the schema without its version, as it was checked';

CREATE TRIGGER cv_schemas_are_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON cv_schemas
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A channel of its own: gateways of events keep their credentials and schemas while links are made by the thousand.
CREATE FUNCTION notify_cv_schemas_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('cv_schemas_changed', (SELECT company_id FROM apps WHERE app_id = NEW.app_id));
  RETURN NULL;
END $$;
CREATE TRIGGER cv_schemas_changed AFTER INSERT ON cv_schemas
  FOR EACH ROW EXECUTE FUNCTION notify_cv_schemas_changed();
