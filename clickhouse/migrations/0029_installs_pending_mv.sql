CREATE MATERIALIZED VIEW IF NOT EXISTS installs_pending_mv_v1 {{on_cluster}} TO installs_pending_v1 AS
SELECT
    app_id,
    received_at_ms,
    install_uuid,
    day,
    sign,
    topic,
    partition,
    offset
FROM installs_v1
WHERE pending = 1
