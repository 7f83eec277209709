-- As 0032: without a new name the altered view would count repeated batches again.
RENAME TABLE
    IF EXISTS money_stamps_mv_v1_renamed TO money_stamps_mv_v1,
    money_stamps_mv_v1 TO money_stamps_mv_v1_renamed,
    money_stamps_mv_v1_renamed TO money_stamps_mv_v1
{{on_cluster}}
