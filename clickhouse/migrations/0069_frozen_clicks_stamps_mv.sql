-- A click that came between the count and the mark is in no count.
CREATE MATERIALIZED VIEW IF NOT EXISTS frozen_clicks_stamps_mv_v1 {{on_cluster}} TO report_stamps_v1 AS
SELECT
    app_id,
    'clicks' AS source,
    day,
    count() AS rows
FROM clicks_frozen_v1
WHERE is_mark = 1
GROUP BY
    app_id,
    day
