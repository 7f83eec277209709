ALTER TABLE revenue_raw_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS install_key UInt64 DEFAULT sipHash64(install_uuid) COMMENT '64-bit hash of install_uuid, for joins and sets'
