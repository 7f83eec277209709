-- Addresses of the panel that people gave a name, for everybody who may see the app.
CREATE TABLE saved_views (
  app_id text NOT NULL REFERENCES apps,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 60),
  address text NOT NULL CHECK (char_length(address) BETWEEN 1 AND 2000),
  person_id text REFERENCES people ON DELETE SET NULL,
  saved_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, name)
);
CREATE INDEX saved_views_of_person ON saved_views (person_id);
COMMENT ON TABLE saved_views IS 'addresses of the panel by name';
COMMENT ON COLUMN saved_views.address IS 'path and query below /admin';
COMMENT ON COLUMN saved_views.person_id IS 'who saved it; null: the admin token, or a person who is removed';

-- What happened on a day, shown in charts of the app.
CREATE TABLE day_notes (
  note_id text PRIMARY KEY,
  app_id text NOT NULL REFERENCES apps,
  day date NOT NULL,
  text text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 200),
  person_id text REFERENCES people ON DELETE SET NULL,
  written_at timestamptz NOT NULL
);
CREATE INDEX day_notes_of_app ON day_notes (app_id, day);
CREATE INDEX day_notes_of_person ON day_notes (person_id);
COMMENT ON TABLE day_notes IS 'what happened on a day of an app, such as a release';
COMMENT ON COLUMN day_notes.day IS 'UTC';
COMMENT ON COLUMN day_notes.person_id IS 'who wrote it; null: the admin token, or a person who is removed';
