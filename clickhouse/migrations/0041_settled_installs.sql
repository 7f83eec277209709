-- Installs of a day. A day is one row with a list for each column, so that a newer row replaces the day as a whole. Read it
-- with FINAL, while its stamp is that of today (docs/adr/0270).
CREATE TABLE IF NOT EXISTS settled_installs_v1 {{on_cluster}}
(
    app_id                     LowCardinality(String) COMMENT 'app that the installs belong to',
    day                        Date COMMENT 'UTC date of the installs',
    stamp                      UInt64 COMMENT 'stamp of the day when it was worked out',
    `groups.partner`           Array(LowCardinality(String)) COMMENT 'partner, or organic',
    `groups.attribution_type`  Array(LowCardinality(String)) COMMENT 'method that matched the click, or organic',
    `groups.installs`          Array(Int64) COMMENT 'number of new installs',
    `groups.reinstalls`        Array(Int64) COMMENT 'number of reinstalls',
    `groups.fraud_flagged`     Array(Int64) COMMENT 'number of new installs with a fraud flag'
)
ENGINE = {{replicated}}ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64
