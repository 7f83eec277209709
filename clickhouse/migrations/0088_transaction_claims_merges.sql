-- A merge waits for twice as many parts: docs/decisions/writing.md#a-merge-of-small-parts-waits-for-twice-as-many
ALTER TABLE transaction_claims_v1 {{on_cluster}}
    MODIFY SETTING merge_selector_base = 10
