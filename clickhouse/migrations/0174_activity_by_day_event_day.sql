-- The day is that of the corrected time, which the windows of cohorts are compared with. Retention, erasures and look-ups of raw events need
-- the day of the events (docs/adr/0490). A new column of a key has the default of its type in earlier rows: 0, which is right for them.
ALTER TABLE activity_by_day_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS event_shift Int16 COMMENT 'days to add to day for the UTC date of the events' AFTER install_key,
    MODIFY ORDER BY (app_id, day, install_key, event_shift),
    COMMENT COLUMN IF EXISTS day 'UTC date of the corrected times of the events',
    COMMENT COLUMN IF EXISTS min_ts_ms 'corrected time of the first event, Unix epoch milliseconds',
    COMMENT COLUMN IF EXISTS max_ts_ms 'corrected time of the last event, Unix epoch milliseconds'
