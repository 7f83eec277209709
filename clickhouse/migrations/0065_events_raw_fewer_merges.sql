-- Rows are rewritten half as often on their way into large parts (docs/performance.md, "Merges").
ALTER TABLE events_raw_v1 {{on_cluster}} MODIFY SETTING merge_selector_base = 10
