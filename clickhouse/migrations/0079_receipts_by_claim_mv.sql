CREATE MATERIALIZED VIEW IF NOT EXISTS receipts_by_claim_mv_v1 {{on_cluster}} TO receipts_by_claim_v1 AS
SELECT
    app_id,
    arrayJoin(if(event_name IN ('subscription_refunded', 'purchase_refunded'), [claim_key, sipHash64('charge', if(verdict = 'valid', transaction_id, stated_id))], [claim_key])) AS claim_key,
    day,
    install_uuid,
    event_key,
    topic,
    partition,
    offset,
    dated_at_ms
FROM receipts_v1
WHERE claim_key != 0
