-- Claims that an earlier one on the same postback beats. They lose for ever, since a claim never ends. By day, so that a report
-- reads those of its window alone (docs/adr/0375). A set.
CREATE TABLE IF NOT EXISTS postback_beaten_claims_v1 {{on_cluster}}
(
    day        Date COMMENT 'UTC date on which the beaten postback was received',
    claim_key  UInt64 COMMENT 'hash of postback_key, environment and log position of the beaten claim' CODEC(ZSTD(1))
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY (day, claim_key)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
