-- What erasures took away from sums that can't shrink by themselves: reports subtract it. A set by batch, so that a batch
-- that is done again takes nothing off twice. Read it with FINAL.
-- `row_keys` names the events of a batch that goes on: a table that is filled again leaves them out, however many are deleted by then.
CREATE TABLE IF NOT EXISTS erased_events_v1 {{on_cluster}}
(
    app_id          LowCardinality(String) COMMENT 'app that the events belonged to',
    day             Date COMMENT 'UTC date of the events',
    event_name      LowCardinality(String) COMMENT 'name of the events',
    currency        LowCardinality(String) COMMENT 'ISO 4217 alpha-3, empty for events without revenue',
    batch           UUID COMMENT 'batch of the eraser that took them away',
    received_day    Date COMMENT 'UTC date on which the gateway received the events',
    topic           LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    partition       UInt32 COMMENT 'log position: partition',
    events          UInt64 COMMENT 'number of events',
    revenue_micros  Int128 COMMENT 'sum of their money in micros of currency, refunds negative',
    row_keys        Array(UInt64) COMMENT '64-bit hashes of log position and key of the events; empty once done',
    done            UInt8 COMMENT '0: some of the events may still be in the tables; 1: they are in none'
)
ENGINE = {{replicated}}ReplacingMergeTree(done)
ORDER BY (app_id, day, event_name, currency, batch, received_day, topic, partition)
SETTINGS {{dedupe_window}}, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    min_compressed_bytes_to_fsync_after_merge = 1
