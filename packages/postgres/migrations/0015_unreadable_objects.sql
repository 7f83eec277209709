CREATE TABLE unreadable_objects (
  number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  app_id text NOT NULL REFERENCES apps,
  folder text NOT NULL,
  objects bigint NOT NULL CHECK (objects > 0),
  UNIQUE (app_id, folder)
);
COMMENT ON TABLE unreadable_objects IS 'folders of the audit store with objects that an erasure could not read or rewrite; each run tries again, and removes the row when it could';
COMMENT ON COLUMN unreadable_objects.app_id IS 'app whose erasures they hold up; archives of clicks are of several apps';
COMMENT ON COLUMN unreadable_objects.objects IS 'how many there were at the last try';
ALTER TABLE erasure_requests ADD COLUMN unreadable bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN erasure_requests.unreadable IS 'number of the newest unreadable folder of its app when the audit store was last rewritten: the erasure is completed when none up to it is left';
