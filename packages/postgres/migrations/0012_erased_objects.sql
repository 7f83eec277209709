-- Audit objects that the next run of the eraser has to rewrite.
CREATE TABLE erased_objects (
  app_id text NOT NULL REFERENCES apps,
  audit_key text NOT NULL,
  notes integer NOT NULL DEFAULT 1,
  PRIMARY KEY (app_id, audit_key)
);
COMMENT ON TABLE erased_objects IS 'audit objects of requests with events that a consumer dropped as erased; the next run rewrites them and removes the row';
COMMENT ON COLUMN erased_objects.audit_key IS 'as in the answer to the request: without the prefix of the app';
COMMENT ON COLUMN erased_objects.notes IS 'how often it was noted: a run removes only what it has seen';
