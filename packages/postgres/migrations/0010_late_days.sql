-- Audit objects that are put under days of which retention has blanked the addresses.
CREATE TABLE blanking (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  before date NOT NULL
);
INSERT INTO blanking (before) SELECT coalesce(max(addresses_blanked_before), '1970-01-01') FROM companies;
COMMENT ON TABLE blanking IS 'one row, written by each run of retention before it reads an audit object';
COMMENT ON COLUMN blanking.before IS 'the UTC day on which the newest run began, or a later mark of a company: an object of an earlier day may come too late for it';

CREATE TABLE late_days (
  app_id text NOT NULL,
  day date NOT NULL,
  noted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (app_id, day)
);
COMMENT ON TABLE late_days IS 'UTC days under which audit objects of an app came, or are about to come, after retention may have blanked the day: it does so once more; names apps that may be gone';
COMMENT ON COLUMN late_days.noted_at IS 'when it was last noted, by the clock of PostgreSQL: a row goes when no such object can come any more';
