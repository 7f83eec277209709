-- As 0032: without a new name the altered view would count repeated batches again.
RENAME TABLE
    IF EXISTS transaction_keys_mv_v1_renamed TO transaction_keys_mv_v1,
    transaction_keys_mv_v1 TO transaction_keys_mv_v1_renamed,
    transaction_keys_mv_v1_renamed TO transaction_keys_mv_v1
{{on_cluster}}
