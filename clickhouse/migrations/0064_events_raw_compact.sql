-- A part of a usual insert keeps its columns in one file, not in two files each: all files are synced before the insert is answered.
ALTER TABLE events_raw_v1 {{on_cluster}} MODIFY SETTING min_bytes_for_wide_part = 67108864
