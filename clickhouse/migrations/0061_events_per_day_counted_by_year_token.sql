-- As 0032: without a new name the altered view would count repeated batches again.
RENAME TABLE
    IF EXISTS events_per_day_mv_v1_renamed TO events_per_day_mv_v1,
    events_per_day_mv_v1 TO events_per_day_mv_v1_renamed,
    events_per_day_mv_v1_renamed TO events_per_day_mv_v1
{{on_cluster}}
