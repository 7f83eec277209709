CREATE MATERIALIZED VIEW IF NOT EXISTS chosen_money_stamps_mv_v1 {{on_cluster}} TO report_stamps_v1 AS
SELECT
    app_id,
    'money' AS source,
    day,
    count() AS rows
FROM revenue_chosen_v1
GROUP BY
    app_id,
    day
