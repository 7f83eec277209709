ALTER TABLE transaction_keys_mv_v1 {{on_cluster}} MODIFY QUERY
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
