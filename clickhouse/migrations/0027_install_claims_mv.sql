CREATE MATERIALIZED VIEW IF NOT EXISTS install_claims_mv_v1 {{on_cluster}} TO install_claims_v1 AS
SELECT
    app_id,
    click_id,
    install_uuid,
    day,
    installed_at_ms,
    partner,
    campaign,
    reinstall,
    event_topic,
    event_partition,
    event_offset,
    event_index,
    sign,
    topic,
    partition,
    offset
FROM installs_v1
WHERE click_id != ''
