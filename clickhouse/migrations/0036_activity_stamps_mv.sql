CREATE MATERIALIZED VIEW IF NOT EXISTS activity_stamps_mv_v1 {{on_cluster}} TO report_stamps_v1 AS
SELECT
    app_id,
    'activity' AS source,
    day,
    count() AS rows
FROM activity_by_day_v1
GROUP BY
    app_id,
    day
