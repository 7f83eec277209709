CREATE MATERIALIZED VIEW IF NOT EXISTS money_stamps_mv_v1 {{on_cluster}} TO report_stamps_v1 AS
SELECT
    app_id,
    'money' AS source,
    day,
    count() AS rows,
    count() AS added
FROM money_days_v1
GROUP BY
    app_id,
    day
