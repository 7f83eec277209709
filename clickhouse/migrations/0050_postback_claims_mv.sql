CREATE MATERIALIZED VIEW IF NOT EXISTS postback_claims_mv_v1 {{on_cluster}} TO postback_claims_v1 AS
SELECT
    postback_key,
    day,
    environment,
    received_at_ms,
    topic,
    partition,
    offset
FROM postbacks_decoded_v1
WHERE verdict = 'valid'
