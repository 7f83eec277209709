-- As 0040: the rows of each partition of each log that this table has taken in.
ALTER TABLE events_received_per_day_mv_v1 {{on_cluster}} MODIFY QUERY
SELECT
    if(e.topic = '', e.app_id, concat('/', e.topic, '/', toString(e.partition))) AS app_id,
    toDate(fromUnixTimestamp64Milli(e.received_at_ms, 'UTC')) AS received_day,
    count() AS events
FROM events_raw_v1 AS e
GROUP BY GROUPING SETS ((e.app_id, received_day), (e.topic, e.partition))
