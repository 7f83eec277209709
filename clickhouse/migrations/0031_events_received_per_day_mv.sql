CREATE MATERIALIZED VIEW IF NOT EXISTS events_received_per_day_mv_v1 {{on_cluster}} TO events_received_per_day_v1 AS
SELECT app_id, toDate(fromUnixTimestamp64Milli(received_at_ms, 'UTC')) AS received_day, count() AS events
FROM events_raw_v1
GROUP BY app_id, received_day
