CREATE MATERIALIZED VIEW IF NOT EXISTS dimensions_stamps_mv_v1 {{on_cluster}} TO report_stamps_v1 AS
SELECT
    app_id,
    'dimensions' AS source,
    day,
    count() AS rows
FROM installs_by_dimensions_v1
GROUP BY
    app_id,
    day
