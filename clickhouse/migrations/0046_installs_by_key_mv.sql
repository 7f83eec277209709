CREATE MATERIALIZED VIEW IF NOT EXISTS installs_by_key_mv_v1 {{on_cluster}} TO installs_by_key_v1 AS
SELECT
    app_id,
    install_key,
    sipHash64(topic, partition, offset) AS row_key,
    sign,
    day,
    installed_at_ms,
    partner,
    reinstall
FROM installs_v1
WHERE pending = 0
