-- What the reconciler has compared, and what it found.
CREATE TABLE reconciled_hours (
  app_id text NOT NULL,
  hour_ms bigint NOT NULL,
  objects integer NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (app_id, hour_ms)
);
COMMENT ON TABLE reconciled_hours IS 'hours of receipt that were compared, of the last days; the rows of an empty app: of all apps';
COMMENT ON COLUMN reconciled_hours.hour_ms IS 'its begin, Unix epoch milliseconds';
COMMENT ON COLUMN reconciled_hours.events IS 'events that tables had of its day of receipt: with fewer the day is compared again';
COMMENT ON COLUMN reconciled_hours.objects IS 'audit objects of SDK requests of the hour: with another number it is compared again';

CREATE TABLE reconcile_differences (
  app_id text NOT NULL,
  hour_ms bigint NOT NULL,
  store text NOT NULL,
  is_surplus boolean NOT NULL,
  expected double precision NOT NULL,
  found double precision NOT NULL,
  examples jsonb NOT NULL,
  found_at_ms bigint NOT NULL,
  looked_at_ms bigint NOT NULL,
  PRIMARY KEY (app_id, hour_ms, store, is_surplus)
);
COMMENT ON TABLE reconcile_differences IS 'where stores differ (docs/operations.md "Reconcile"); gone when a later look finds it no more';
COMMENT ON COLUMN reconcile_differences.app_id IS 'empty for postbacks, which name no app';
COMMENT ON COLUMN reconcile_differences.hour_ms IS 'begin of the hour of receipt, or of the day of a figure, Unix epoch milliseconds';
COMMENT ON COLUMN reconcile_differences.store IS 'table, topic or audit';
COMMENT ON COLUMN reconcile_differences.is_surplus IS 'more is there than should be';
COMMENT ON COLUMN reconcile_differences.examples IS 'texts that say where';
COMMENT ON COLUMN reconcile_differences.found_at_ms IS 'when it was found first, Unix epoch milliseconds';
COMMENT ON COLUMN reconcile_differences.looked_at_ms IS 'when it was looked at last, Unix epoch milliseconds';

CREATE UNIQUE INDEX jobs_one_reconcile ON jobs (kind) WHERE ended_at_ms IS NULL AND kind = 'reconcile';
