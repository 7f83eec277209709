-- The advertised apps of each publisher and day: an app that no one advertised is matched by what it published
-- (docs/rules.md#destination-app). A set.
CREATE TABLE IF NOT EXISTS postback_publishers_v1 {{on_cluster}}
(
    publisher_item_id   UInt64 COMMENT 'store id of the app that showed the ad' CODEC(ZSTD(1)),
    day                 Date COMMENT 'UTC date of received_at_ms',
    advertised_item_id  UInt64 COMMENT 'store id of the app that the ad was for, 0 when absent' CODEC(ZSTD(1)),
    valid               SimpleAggregateFunction(max, UInt8) COMMENT '1 when a signature proves one of them'
)
ENGINE = {{replicated}}AggregatingMergeTree
ORDER BY (publisher_item_id, day, advertised_item_id)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
