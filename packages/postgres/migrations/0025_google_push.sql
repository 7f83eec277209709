-- What the tokens of Google must name with which Pub/Sub pushes notifications of an app.
ALTER TABLE apps
  ADD COLUMN google_push_audience text CHECK (google_push_audience <> ''),
  ADD COLUMN google_push_email text CHECK (google_push_email <> '');
COMMENT ON COLUMN apps.google_push_audience IS 'audience of the tokens; null: the address that is pushed to';
COMMENT ON COLUMN apps.google_push_email IS 'service account of the tokens; null: no notification of Google is taken';
