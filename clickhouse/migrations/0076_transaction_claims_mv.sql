CREATE MATERIALIZED VIEW IF NOT EXISTS transaction_claims_mv_v1 {{on_cluster}} TO transaction_claims_v1 AS
SELECT
    app_id,
    sipHash64(if(event_name IN ('subscription_refunded', 'purchase_refunded'), 'refund', 'charge'), transaction_id) AS claim_key,
    day,
    install_uuid,
    event_name,
    event_key,
    currency,
    assumeNotNull(revenue_micros) AS amount_micros,
    transaction_key,
    if(source = 'sdk', 1, 2) AS claim_rank,
    received_at_ms,
    least(received_at_ms, if(ts_ms = received_at_ms AND sent_at_ms > 0, sent_at_ms, ts_ms)) AS dated_at_ms,
    toUnixTimestamp64Milli(now64(3)) AS written_at_ms,
    topic,
    partition,
    offset
FROM events_raw_v1
WHERE transaction_key != 0 AND revenue_counts = 1 AND revenue_micros IS NOT NULL AND transaction_key != bitXor(event_key, toUInt64(toUInt16(day)) * 11400714819323198485)
