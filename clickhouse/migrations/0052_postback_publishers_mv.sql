CREATE MATERIALIZED VIEW IF NOT EXISTS postback_publishers_mv_v1 {{on_cluster}} TO postback_publishers_v1 AS
SELECT
    publisher_item_id,
    day,
    advertised_item_id,
    max(verdict = 'valid') AS valid
FROM postbacks_decoded_v1
WHERE (publisher_item_id != 0) AND (publisher_item_id != advertised_item_id)
GROUP BY
    publisher_item_id,
    day,
    advertised_item_id
