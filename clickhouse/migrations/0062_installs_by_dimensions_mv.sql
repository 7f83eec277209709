CREATE MATERIALIZED VIEW IF NOT EXISTS installs_by_dimensions_mv_v1 {{on_cluster}} TO installs_by_dimensions_v1 AS
SELECT
    app_id,
    day,
    installed_at_ms,
    install_key,
    partner,
    campaign,
    ad_group,
    creative,
    link_id,
    sub1,
    sub2,
    sub3,
    sub4,
    sub5,
    country,
    attribution_type,
    reinstall,
    notEmpty(fraud_flags) AS flagged,
    sign,
    topic,
    partition,
    offset
FROM installs_v1
WHERE pending = 0
