CREATE MATERIALIZED VIEW IF NOT EXISTS uniques_stamps_mv_v1 {{on_cluster}} TO report_stamps_v1 AS
SELECT
    app_id,
    'uniques' AS source,
    day,
    count() AS rows
FROM event_installs_per_day_v1
GROUP BY
    app_id,
    day
