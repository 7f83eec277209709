CREATE MATERIALIZED VIEW IF NOT EXISTS events_per_day_mv_v1 {{on_cluster}} TO events_per_day_v1 AS
SELECT
    app_id,
    day,
    event_name,
    currency,
    count() AS events,
    sum(toInt128(ifNull(revenue_micros, 0))) AS revenue_micros
FROM events_raw_v1
GROUP BY app_id, day, event_name, currency
