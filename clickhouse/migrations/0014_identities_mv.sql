CREATE MATERIALIZED VIEW IF NOT EXISTS identities_mv_v1 {{on_cluster}} TO identities_v1 AS
SELECT
    app_id,
    install_uuid,
    user_id,
    min(ts_ms) AS since_ms
FROM events_raw_v1
WHERE user_id != ''
GROUP BY
    app_id,
    install_uuid,
    user_id
