-- As 0032: without a new name the altered view would count repeated batches again.
RENAME TABLE
    IF EXISTS revenue_raw_mv_v1_renamed TO revenue_raw_mv_v1,
    revenue_raw_mv_v1 TO revenue_raw_mv_v1_renamed,
    revenue_raw_mv_v1_renamed TO revenue_raw_mv_v1
{{on_cluster}}
