-- Of revenue_raw_v1, not of events_raw_v1: so a key that is seen has its money there already.
CREATE MATERIALIZED VIEW IF NOT EXISTS transaction_keys_mv_v1 {{on_cluster}} TO transaction_keys_v1 AS
SELECT
    app_id,
    transaction_key,
    day,
    received_at_ms,
    toUnixTimestamp64Milli(now64(3)) AS written_at_ms,
    topic,
    partition,
    offset,
    claim_rank
FROM revenue_raw_v1
WHERE transaction_key != 0
