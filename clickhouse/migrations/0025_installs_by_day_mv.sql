CREATE MATERIALIZED VIEW IF NOT EXISTS installs_by_day_mv_v1 {{on_cluster}} TO installs_by_day_v1 AS
SELECT
    app_id,
    day,
    installed_at_ms,
    install_key,
    partner,
    attribution_type,
    reinstall,
    notEmpty(fraud_flags) AS flagged,
    sign,
    topic,
    partition,
    offset
FROM installs_v1
WHERE pending = 0
