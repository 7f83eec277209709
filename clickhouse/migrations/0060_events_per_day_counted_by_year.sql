-- The counters say of which year the rows were, as the first day of it: a block is of one year, so this is still one row of a
-- block. What a log that nobody knows any more left half-done is then told by the tables alone (docs/adr/0103).
ALTER TABLE events_per_day_mv_v1 {{on_cluster}} MODIFY QUERY
SELECT
    if(e.topic = '', e.app_id, concat('/', e.topic, '/', toString(e.partition))) AS app_id,
    if(e.topic = '', e.day, toStartOfYear(e.day)) AS day,
    e.event_name AS event_name,
    e.currency AS currency,
    count() AS events,
    sum(if(e.revenue_counts = 1, toInt128(ifNull(e.revenue_micros, 0)), toInt128(0))) AS revenue_micros
FROM events_raw_v1 AS e
GROUP BY GROUPING SETS ((e.app_id, e.day, e.event_name, e.currency), (e.topic, e.partition, toStartOfYear(e.day)))
