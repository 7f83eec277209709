-- As 0032: without a new name the altered view would count repeated batches again.
RENAME TABLE
    IF EXISTS activity_by_day_mv_v1_renamed TO activity_by_day_mv_v1,
    activity_by_day_mv_v1 TO activity_by_day_mv_v1_renamed,
    activity_by_day_mv_v1_renamed TO activity_by_day_mv_v1
{{on_cluster}}
