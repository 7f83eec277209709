-- It counts the rows of each partition of each log too, as events_per_day_mv_v1 does, by the year of the event and not of its receipt.
CREATE MATERIALIZED VIEW IF NOT EXISTS events_received_per_day_mv_v1 {{on_cluster}} TO events_received_per_day_v1 AS
SELECT
    if(e.topic = '', e.app_id, concat('/', e.topic, '/', toString(e.partition))) AS app_id,
    if(e.topic = '', toDate(fromUnixTimestamp64Milli(e.received_at_ms, 'UTC')), toStartOfYear(e.day)) AS received_day,
    count() AS events
FROM events_raw_v1 AS e
GROUP BY
    GROUPING SETS (
        (e.app_id, toDate(fromUnixTimestamp64Milli(e.received_at_ms, 'UTC'))),
        (e.topic, e.partition, toStartOfYear(e.day)))
