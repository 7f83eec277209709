CREATE MATERIALIZED VIEW IF NOT EXISTS activity_by_day_mv_v1 {{on_cluster}} TO activity_by_day_v1 AS
SELECT
    e.app_id AS app_id,
    toDate(fromUnixTimestamp64Milli(e.ts_ms + e.correction_ms, 'UTC')) AS day,
    sipHash64(e.install_uuid) AS install_key,
    toInt16(e.day - toDate(fromUnixTimestamp64Milli(e.ts_ms + e.correction_ms, 'UTC'))) AS event_shift,
    min(e.ts_ms + e.correction_ms) AS min_ts_ms,
    max(e.ts_ms + e.correction_ms) AS max_ts_ms
FROM events_raw_v1 AS e
GROUP BY
    e.app_id,
    toDate(fromUnixTimestamp64Milli(e.ts_ms + e.correction_ms, 'UTC')),
    install_key,
    e.day
