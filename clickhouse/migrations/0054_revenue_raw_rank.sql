-- Claims on a transaction have ranks (docs/adr/0195). Rows from before rank as a backend's, so that no sum of theirs changes.
ALTER TABLE revenue_raw_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS claim_rank UInt8 DEFAULT 2 COMMENT 'who claims the transaction: 1 SDK, 2 backend, 3 receipt that the store confirmed' CODEC(ZSTD(1))
