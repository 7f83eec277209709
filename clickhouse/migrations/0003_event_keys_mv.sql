CREATE MATERIALIZED VIEW IF NOT EXISTS event_keys_mv_v1 {{on_cluster}} TO event_keys_v1 AS
SELECT
    app_id,
    key_day,
    event_key,
    topic,
    partition,
    offset
FROM events_raw_v1
