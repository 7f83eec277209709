-- Rows are rewritten half as often on their way into large parts (docs/performance.md, "Merges").
ALTER TABLE event_installs_per_day_v1 {{on_cluster}} MODIFY SETTING merge_selector_base = 10
