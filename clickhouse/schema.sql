-- Made by `node packages/clickhouse/src/dump-schema.ts` from the migrations. Do not edit.

CREATE MATERIALIZED VIEW activity_per_day_mv_v1 TO activity_per_day_v1
(
    `app_id` LowCardinality(String),
    `install_uuid` String,
    `day` Date,
    `min_ts_ms` Int64,
    `max_ts_ms` Int64
)
AS SELECT
    app_id,
    install_uuid,
    day,
    min(ts_ms) AS min_ts_ms,
    max(ts_ms) AS max_ts_ms
FROM events_raw_v1
GROUP BY
    app_id,
    install_uuid,
    day;

CREATE TABLE activity_per_day_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `day` Date COMMENT 'UTC date of the events',
    `min_ts_ms` SimpleAggregateFunction(min, Int64) COMMENT 'time of the first event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `max_ts_ms` SimpleAggregateFunction(max, Int64) COMMENT 'time of the last event, Unix epoch milliseconds' CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (app_id, install_uuid, day)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE MATERIALIZED VIEW event_installs_per_day_mv_v1 TO event_installs_per_day_v1
(
    `app_id` LowCardinality(String),
    `day` Date,
    `event_name` LowCardinality(String),
    `installs` AggregateFunction(uniqExact, String)
)
AS SELECT
    app_id,
    day,
    event_name,
    uniqExactState(install_uuid) AS installs
FROM events_raw_v1
GROUP BY
    app_id,
    day,
    event_name;

CREATE TABLE event_installs_per_day_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the events belong to',
    `day` Date COMMENT 'UTC date of the events',
    `event_name` LowCardinality(String) COMMENT 'name of the events',
    `installs` AggregateFunction(uniqExact, String) COMMENT 'set of install_uuid'
)
ENGINE = AggregatingMergeTree
ORDER BY (app_id, day, event_name)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8, merge_max_block_size = 8;

CREATE MATERIALIZED VIEW event_keys_mv_v1 TO event_keys_v1
(
    `app_id` LowCardinality(String),
    `key_day` Date,
    `event_key` UInt64,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64
)
AS SELECT
    app_id,
    key_day,
    event_key,
    topic,
    partition,
    offset
FROM events_raw_v1;

CREATE TABLE event_keys_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the event belongs to',
    `key_day` Date COMMENT 'UTC date of the event, 1970-01-01 for an install',
    `event_key` UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (app_id, key_day, event_key)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 4096;

CREATE MATERIALIZED VIEW events_per_day_mv_v1 TO events_per_day_v1
(
    `app_id` LowCardinality(String),
    `day` Date,
    `event_name` LowCardinality(String),
    `currency` LowCardinality(String),
    `events` UInt64,
    `revenue_micros` Int128
)
AS SELECT
    app_id,
    day,
    event_name,
    currency,
    count() AS events,
    sum(toInt128(ifNull(revenue_micros, 0))) AS revenue_micros
FROM events_raw_v1
GROUP BY
    app_id,
    day,
    event_name,
    currency;

CREATE TABLE events_per_day_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the events belong to',
    `day` Date COMMENT 'UTC date of the events',
    `event_name` LowCardinality(String) COMMENT 'name of the events',
    `currency` LowCardinality(String) COMMENT 'ISO 4217 alpha-3, empty for events without revenue',
    `events` UInt64 COMMENT 'number of events',
    `revenue_micros` Int128 COMMENT 'sum of money in micros of currency, refunds negative'
)
ENGINE = SummingMergeTree((events, revenue_micros))
ORDER BY (app_id, day, event_name, currency)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE events_raw_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the event belongs to',
    `day` Date COMMENT 'UTC date of ts_ms',
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `ts_ms` Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `event_name` LowCardinality(String) COMMENT 'name of the event',
    `event_id` String COMMENT 'idempotency key as sent' CODEC(ZSTD(1)),
    `event_key` UInt64 COMMENT '64-bit hash of the idempotency key',
    `key_day` Date COMMENT 'day, or 1970-01-01 for an install, whose key holds for ever',
    `user_id` String COMMENT 'user id of the customer, empty when absent' CODEC(ZSTD(1)),
    `revenue_micros` Nullable(Int64) COMMENT 'money in micros of currency, refunds negative; null without revenue' CODEC(ZSTD(1)),
    `currency` LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case, empty without revenue',
    `transaction_id` String COMMENT 'empty when absent' CODEC(ZSTD(1)),
    `product_id` String COMMENT 'empty when absent' CODEC(ZSTD(1)),
    `props` String COMMENT 'JSON object' CODEC(ZSTD(1)),
    `device` String COMMENT 'JSON object' CODEC(ZSTD(1)),
    `extra` String COMMENT 'JSON object of all other top-level fields' CODEC(ZSTD(1)),
    `platform` LowCardinality(String) COMMENT 'ios or android',
    `source` LowCardinality(String) COMMENT 'sdk, s2s or bulk',
    `sdk` LowCardinality(String) COMMENT 'X-Service-Sdk as sent, empty when absent',
    `sdk_platform` LowCardinality(String) COMMENT 'X-Service-Platform as sent, empty when absent',
    `ip` String COMMENT 'address of the sender' CODEC(ZSTD(1)),
    `user_agent` String COMMENT 'User-Agent as sent' CODEC(ZSTD(1)),
    `company_id` LowCardinality(String) COMMENT 'company that owns the app',
    `audit_key` String COMMENT 'audit object that holds the request' CODEC(ZSTD(1)),
    `received_at_ms` Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `sent_at_ms` Int64 COMMENT 'client clock when sent, Unix epoch milliseconds, 0 when absent' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYear(day)
ORDER BY (app_id, day, install_uuid, ts_ms)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE schema_migrations_v1
(
    `version` UInt32 COMMENT 'number of the migration file',
    `name` String COMMENT 'name of the migration file without its ending',
    `checksum` String COMMENT 'SHA-256 of the file, hexadecimal'
)
ENGINE = ReplacingMergeTree
ORDER BY version
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;
