-- Audit objects that are put under days of which retention has blanked the addresses.
CREATE TABLE blanking (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  run bigint NOT NULL,
  before date NOT NULL
);
INSERT INTO blanking (run, before) SELECT 0, coalesce(max(addresses_blanked_before), '1970-01-01') FROM companies;
COMMENT ON TABLE blanking IS 'one row: the newest run of retention that blanks audit objects, written before it reads any';
COMMENT ON COLUMN blanking.run IS 'grows with each run';
COMMENT ON COLUMN blanking.before IS 'the UTC day on which it began, or a later mark of a company: an object of an earlier day may come too late for it';

CREATE TABLE late_days (
  app_id text NOT NULL REFERENCES apps,
  day date NOT NULL,
  run bigint NOT NULL,
  PRIMARY KEY (app_id, day)
);
COMMENT ON TABLE late_days IS 'UTC days under which audit objects of an app came, or are about to come, after retention may have blanked the day: it does so once more';
COMMENT ON COLUMN late_days.run IS 'newest run of retention that the writer of an object knew; a row goes when no such object can come any more';
