CREATE MATERIALIZED VIEW IF NOT EXISTS receipts_by_claim_mv_v1 {{on_cluster}} TO receipts_by_claim_v1 AS
SELECT
    app_id,
    claim_key,
    day,
    install_uuid,
    event_key,
    topic,
    partition,
    offset,
    dated_at_ms
FROM receipts_v1
WHERE claim_key != 0
