-- What a report groups installs by, of the same decision as the other columns. Rows of before have what their decision says. One that ends a
-- verdict has no decision: there these columns stay empty, and installs_by_dimensions_v1 takes them from the click.
ALTER TABLE installs_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS country LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 of the sender of the install event, empty when unknown',
    ADD COLUMN IF NOT EXISTS ad_group LowCardinality(String)
        DEFAULT JSONExtractString(arrayFirst(click -> JSONExtractString(click, 'click_id') = click_id, JSONExtractArrayRaw(decision, 'clicks')), 'ad_group')
        COMMENT 'ad group of the click, empty when absent',
    ADD COLUMN IF NOT EXISTS creative LowCardinality(String)
        DEFAULT JSONExtractString(arrayFirst(click -> JSONExtractString(click, 'click_id') = click_id, JSONExtractArrayRaw(decision, 'clicks')), 'creative')
        COMMENT 'creative of the click, empty when absent',
    ADD COLUMN IF NOT EXISTS sub1 String DEFAULT JSONExtractString(decision, 'verdict', 'sub1') COMMENT 'sub1 of the click, empty when absent' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS sub2 String DEFAULT JSONExtractString(decision, 'verdict', 'sub2') COMMENT 'sub2 of the click, empty when absent' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS sub3 String DEFAULT JSONExtractString(decision, 'verdict', 'sub3') COMMENT 'sub3 of the click, empty when absent' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS sub4 String DEFAULT JSONExtractString(decision, 'verdict', 'sub4') COMMENT 'sub4 of the click, empty when absent' CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS sub5 String DEFAULT JSONExtractString(decision, 'verdict', 'sub5') COMMENT 'sub5 of the click, empty when absent' CODEC(ZSTD(1))
