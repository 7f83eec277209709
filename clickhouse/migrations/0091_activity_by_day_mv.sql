CREATE MATERIALIZED VIEW IF NOT EXISTS activity_by_day_mv_v1 {{on_cluster}} TO activity_by_day_v1 AS
SELECT app_id, day, sipHash64(install_uuid) AS install_key, min(ts_ms) AS min_ts_ms, max(ts_ms) AS max_ts_ms
FROM events_raw_v1
GROUP BY app_id, day, install_key
