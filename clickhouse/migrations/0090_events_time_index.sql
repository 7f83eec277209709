-- Reports until now ask whether an event of today is dated later: docs/decisions/reports.md#a-window-until-now-takes-the-whole-day.
-- Parts of before get the index when they are merged.
ALTER TABLE events_raw_v1 {{on_cluster}} ADD INDEX IF NOT EXISTS ts_ms ts_ms TYPE minmax GRANULARITY 1
