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
