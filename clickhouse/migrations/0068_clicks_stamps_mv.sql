CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_stamps_mv_v1 {{on_cluster}} TO report_stamps_v1 AS
SELECT
    app_id,
    'clicks' AS source,
    day,
    count() AS rows
FROM clicks_raw_v1
GROUP BY
    app_id,
    day
