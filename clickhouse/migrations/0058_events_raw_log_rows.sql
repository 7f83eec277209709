-- By the number of rows that its log had with the block of a row, each counted table says whether it has the block, whatever erasures
-- and retention took of the rows before it (docs/adr/0103). Rows of the same block have the same number.
ALTER TABLE events_raw_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS log_rows UInt64 DEFAULT 0 COMMENT 'rows written of its partition since its log began, its block included; 0 for rows of before 0058' CODEC(ZSTD(1))
