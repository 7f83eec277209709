CREATE MATERIALIZED VIEW IF NOT EXISTS install_fact_keys_mv_v1 {{on_cluster}} TO install_fact_keys_v1 AS
SELECT
    app_id,
    arrayJoin(match_keys) AS match_key,
    received_at_ms,
    install_uuid,
    kind,
    JSONExtractInt(fact, 'installed_at_ms') AS installed_at_ms,
    day,
    topic,
    partition,
    offset,
    event_index
FROM install_facts_v1
