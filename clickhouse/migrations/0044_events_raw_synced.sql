-- A part is on the disk before its insert is answered, and before the parts it was merged from go (docs/adr/0102).
ALTER TABLE events_raw_v1 {{on_cluster}} MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1
