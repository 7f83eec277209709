-- activity_by_day_v1 takes its place. What activity_per_day_v1 holds is copied by the settler (docs/adr/0271).
DROP VIEW IF EXISTS activity_per_day_mv_v1 {{on_cluster}}
