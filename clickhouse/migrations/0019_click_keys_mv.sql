CREATE MATERIALIZED VIEW IF NOT EXISTS click_keys_mv_v1 {{on_cluster}} TO click_keys_v1 AS
SELECT
    app_id,
    arrayJoin(match_keys) AS match_key,
    clicked_at_ms,
    click_id,
    day,
    filtered_reason,
    lookback_hours
FROM clicks_raw_v1
