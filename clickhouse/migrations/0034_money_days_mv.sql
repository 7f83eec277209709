CREATE MATERIALIZED VIEW IF NOT EXISTS money_days_mv_v1 {{on_cluster}} TO money_days_v1 AS
SELECT
    app_id,
    sipHash64(install_uuid) AS install_key,
    day
FROM revenue_raw_v1
GROUP BY
    app_id,
    install_key,
    day
