-- Ranks as `claimRanks` (packages/contracts): s2s and bulk are both a backend.
CREATE MATERIALIZED VIEW IF NOT EXISTS revenue_raw_mv_v1 {{on_cluster}} TO revenue_raw_v1 AS
SELECT
    app_id,
    day,
    install_uuid,
    ts_ms,
    event_name,
    event_key,
    currency,
    assumeNotNull(revenue_micros) AS amount_micros,
    transaction_key,
    received_at_ms,
    topic,
    partition,
    offset,
    if(source = 'sdk', 1, 2) AS claim_rank,
    correction_ms
FROM events_raw_v1
WHERE (revenue_counts = 1) AND (revenue_micros IS NOT NULL)
