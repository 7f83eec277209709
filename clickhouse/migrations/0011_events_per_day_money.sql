-- The money of the roll-up is the money that counts; what revenue_cancelled_v1 holds is taken off when it is read.
ALTER TABLE events_per_day_mv_v1 {{on_cluster}} MODIFY QUERY
SELECT
    app_id,
    day,
    event_name,
    currency,
    count() AS events,
    sum(if(revenue_counts = 1, toInt128(ifNull(revenue_micros, 0)), toInt128(0))) AS revenue_micros
FROM events_raw_v1
GROUP BY app_id, day, event_name, currency
