CREATE MATERIALIZED VIEW IF NOT EXISTS event_installs_per_day_mv_v1 {{on_cluster}} TO event_installs_per_day_v1 AS
SELECT
    app_id,
    day,
    event_name,
    uniqExactState(install_uuid) AS installs
FROM events_raw_v1
GROUP BY
    app_id,
    day,
    event_name
