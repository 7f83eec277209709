-- After migration 0011 the engine takes the view for another one until it restarts (docs/adr/0071); a new name ends that,
-- the old one comes back at once. The first step finishes a run that was killed in between.
RENAME TABLE
    IF EXISTS events_per_day_mv_v1_renamed TO events_per_day_mv_v1,
    events_per_day_mv_v1 TO events_per_day_mv_v1_renamed,
    events_per_day_mv_v1_renamed TO events_per_day_mv_v1
{{on_cluster}}
