ALTER TABLE events_raw_v1 {{on_cluster}}
    ADD COLUMN IF NOT EXISTS country LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 that the gateway found for the event, empty when unknown' AFTER user_agent
