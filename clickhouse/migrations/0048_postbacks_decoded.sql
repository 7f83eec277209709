-- What postbacks say, and whether a signature proves it. The newest judgement of a postback counts, so read it with FINAL.
-- By item id: an app is matched when rows are read (docs/rules.md#destination-app).
CREATE TABLE IF NOT EXISTS postbacks_decoded_v1 {{on_cluster}}
(
    advertised_item_id  UInt64 COMMENT 'store id of the app that the ad was for, 0 when absent',
    day                 Date COMMENT 'UTC date of received_at_ms',
    received_at_ms      Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    protocol            LowCardinality(String) COMMENT 'skan or aak',
    verdict             LowCardinality(String) COMMENT 'valid, invalid or unverifiable',
    reason              LowCardinality(String) COMMENT 'why it has this verdict',
    environment         LowCardinality(String) COMMENT 'production or development, by the key that verified; empty when none did',
    key                 LowCardinality(String) COMMENT 'name of the key that verified, empty when none did',
    version             LowCardinality(String) COMMENT 'version of SKAN, empty for AAK',
    network             LowCardinality(String) COMMENT 'ad network id',
    postback_id         String COMMENT 'transaction id of SKAN or postback identifier of AAK' CODEC(ZSTD(1)),
    sequence_index      UInt8 COMMENT '0 to 2, the number of the postback of an install',
    publisher_item_id   UInt64 COMMENT 'store id of the app that showed the ad, 0 when absent' CODEC(ZSTD(1)),
    source              LowCardinality(String) COMMENT 'source identifier, else campaign id',
    redownload          Nullable(UInt8) COMMENT '1 when the app was installed before, null when not told',
    re_engagement       UInt8 COMMENT '1 when it is no install: the app was opened again',
    did_win             Nullable(UInt8) COMMENT '0 when the network did not win, null when not told',
    fidelity_type       Nullable(UInt8) COMMENT '0 view-through, 1 rendered by StoreKit, null when not told',
    fine                Nullable(UInt8) COMMENT 'conversion value, 0 to 63, null when not told' CODEC(ZSTD(1)),
    coarse              LowCardinality(Nullable(String)) COMMENT 'low, medium or high, null when not told',
    country             LowCardinality(Nullable(String)) COMMENT 'ISO 3166-1 alpha-2, null when not told',
    judged_at_ms        Int64 COMMENT 'when it was judged, Unix epoch milliseconds; its received time for the first judgement' CODEC(ZSTD(1)),
    judged_by           LowCardinality(String) COMMENT 'fingerprint of the keys that it was judged with',
    moved               UInt8 COMMENT '1 when a later judgement reads another advertised_item_id',
    postback_key        UInt64 DEFAULT sipHash64(protocol, network, postback_id, sequence_index) COMMENT 'hash of what may be won once' CODEC(ZSTD(1)),
    topic               LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    partition           UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    offset              UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree(judged_at_ms, moved)
ORDER BY (advertised_item_id, day, topic, partition, offset)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024
