-- As 0054. Of several rows with one key the one of the highest rank counts, then the first by received_at_ms, partition, offset, topic.
ALTER TABLE transaction_keys_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS claim_rank UInt8 DEFAULT 2 COMMENT 'who claims the transaction: 1 SDK, 2 backend, 3 receipt that the store confirmed' CODEC(ZSTD(1))
