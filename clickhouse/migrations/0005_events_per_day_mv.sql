-- Besides the sums by app the view counts the rows of each partition of each log, as an app "/<source>/<partition>", which no
-- app can be named. It says exactly what this table has taken in, in the same block: a batch that comes again is completed by
-- it (docs/adr/0101). The counters say of which year the rows were, as the first day of it. What a log that nobody knows any more
-- left half-done is then told by the tables alone, also beside years that retention has deleted from (docs/adr/0103).
CREATE MATERIALIZED VIEW IF NOT EXISTS events_per_day_mv_v1 {{on_cluster}} TO events_per_day_v1 AS
SELECT
    if(e.topic = '', e.app_id, concat('/', e.topic, '/', toString(e.partition))) AS app_id,
    if(e.topic = '', e.day, toStartOfYear(e.day)) AS day,
    e.event_name AS event_name,
    e.currency AS currency,
    count() AS events,
    sum(if(e.revenue_counts = 1, toInt128(ifNull(e.revenue_micros, 0)), toInt128(0))) AS revenue_micros
FROM events_raw_v1 AS e
GROUP BY
    GROUPING SETS (
        (e.app_id, e.day, e.event_name, e.currency),
        (e.topic, e.partition, toStartOfYear(e.day)))
