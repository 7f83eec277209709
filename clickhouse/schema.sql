-- Made by `npm run dump` from the migrations. Do not edit.

CREATE MATERIALIZED VIEW activity_by_day_mv_v1 TO activity_by_day_v1
(
    `app_id` LowCardinality(String),
    `day` Date,
    `install_key` UInt64,
    `event_shift` Int16,
    `min_ts_ms` Int64,
    `max_ts_ms` Int64
)
AS SELECT
    e.app_id AS app_id,
    toDate(fromUnixTimestamp64Milli(e.ts_ms + e.correction_ms, 'UTC')) AS day,
    sipHash64(e.install_uuid) AS install_key,
    toInt16(e.day - toDate(fromUnixTimestamp64Milli(e.ts_ms + e.correction_ms, 'UTC'))) AS event_shift,
    min(e.ts_ms + e.correction_ms) AS min_ts_ms,
    max(e.ts_ms + e.correction_ms) AS max_ts_ms
FROM events_raw_v1 AS e
GROUP BY
    e.app_id,
    toDate(fromUnixTimestamp64Milli(e.ts_ms + e.correction_ms, 'UTC')),
    install_key,
    e.day;

CREATE TABLE activity_by_day_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `day` Date COMMENT 'UTC date of the corrected times of the events',
    `install_key` UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets',
    `event_shift` Int16 COMMENT 'days to add to day for the UTC date of the events',
    `min_ts_ms` SimpleAggregateFunction(min, Int64) COMMENT 'corrected time of the first event, Unix epoch milliseconds' CODEC(Delta(8), ZSTD(1)),
    `max_ts_ms` SimpleAggregateFunction(max, Int64) COMMENT 'corrected time of the last event, Unix epoch milliseconds' CODEC(Delta(8), ZSTD(1)),
    INDEX by_install install_key TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = AggregatingMergeTree
PRIMARY KEY (app_id, day, install_key)
ORDER BY (app_id, day, install_key, event_shift)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, merge_selector_base = 10, index_granularity = 8192;

CREATE MATERIALIZED VIEW activity_stamps_mv_v1 TO report_stamps_v1
(
    `app_id` LowCardinality(String),
    `source` String,
    `day` Date,
    `rows` UInt64
)
AS SELECT
    app_id,
    'activity' AS source,
    day,
    count() AS rows
FROM activity_by_day_v1
GROUP BY
    app_id,
    day;

CREATE MATERIALIZED VIEW cancelled_money_stamps_mv_v1 TO report_stamps_v1
(
    `app_id` LowCardinality(String),
    `source` String,
    `day` Date,
    `rows` UInt64
)
AS SELECT
    app_id,
    'money' AS source,
    day,
    count() AS rows
FROM revenue_cancelled_v1
GROUP BY
    app_id,
    day;

CREATE MATERIALIZED VIEW chosen_money_stamps_mv_v1 TO report_stamps_v1
(
    `app_id` LowCardinality(String),
    `source` String,
    `day` Date,
    `rows` UInt64
)
AS SELECT
    app_id,
    'money' AS source,
    day,
    count() AS rows
FROM revenue_chosen_v1
GROUP BY
    app_id,
    day;

CREATE TABLE click_floods_v1
(
    `app_id` LowCardinality(String) COMMENT 'app of the links',
    `day` Date COMMENT 'UTC date of the clicks',
    `partner` LowCardinality(String) COMMENT 'partner of the source',
    `campaign` LowCardinality(String) COMMENT 'campaign of the source, empty when absent',
    `flooded` UInt8 COMMENT '1 when the source flooded',
    `clicks` UInt64 COMMENT 'clicks of the source that may attribute',
    `conversions` UInt64 COMMENT 'new installs that these clicks brought',
    `worked_out_ms` Int64 COMMENT 'when this was worked out, Unix epoch milliseconds'
)
ENGINE = ReplacingMergeTree(worked_out_ms)
ORDER BY (app_id, day, partner, campaign)
TTL day + toIntervalDay(120)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE MATERIALIZED VIEW click_keys_mv_v1 TO click_keys_v1
(
    `app_id` LowCardinality(String),
    `match_key` UInt64,
    `clicked_at_ms` Int64,
    `click_id` String,
    `day` Date,
    `filtered_reason` LowCardinality(String),
    `lookback_hours` UInt16
)
AS SELECT
    app_id,
    arrayJoin(match_keys) AS match_key,
    clicked_at_ms,
    click_id,
    day,
    filtered_reason,
    lookback_hours
FROM clicks_raw_v1;

CREATE TABLE click_keys_v1
(
    `app_id` LowCardinality(String) COMMENT 'app of the link',
    `match_key` UInt64 COMMENT 'hash of the kind and the value' CODEC(NONE),
    `clicked_at_ms` Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `click_id` String COMMENT 'ours, UUIDv7' CODEC(ZSTD(1)),
    `day` Date COMMENT 'UTC date of clicked_at_ms',
    `filtered_reason` LowCardinality(String) COMMENT 'why it attributes nothing, empty when it may',
    `lookback_hours` UInt16 COMMENT 'window of the link in hours, 0 when the window of the app holds'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(day)
PRIMARY KEY (app_id, match_key)
ORDER BY (app_id, match_key, clicked_at_ms, click_id)
TTL day + toIntervalDay(90)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 128, min_compress_block_size = 4096, max_compress_block_size = 4096;

CREATE TABLE clicks_frozen_v1
(
    `app_id` LowCardinality(String) COMMENT 'app of the links',
    `day` Date COMMENT 'UTC date of the clicks',
    `batch` UUID COMMENT 'run that counted them',
    `is_mark` UInt8 COMMENT '1: all rows of the batch are there, and the day is frozen',
    `partner` LowCardinality(String) COMMENT 'partner of the link',
    `campaign` LowCardinality(String) COMMENT 'campaign of the link, empty when absent',
    `ad_group` LowCardinality(String) COMMENT 'ad group of the link, empty when absent',
    `creative` LowCardinality(String) COMMENT 'creative of the link, empty when absent',
    `link_id` LowCardinality(String) COMMENT 'tracking link',
    `country` LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 of the visitor, empty when unknown',
    `clicks` UInt64 COMMENT 'number of clicks that no filter kept',
    `frozen_at_ms` Int64 COMMENT 'when they were counted, Unix epoch milliseconds' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, day, batch, is_mark, partner, campaign, ad_group, creative, link_id, country)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE TABLE clicks_raw_v1
(
    `app_id` LowCardinality(String) COMMENT 'app of the link',
    `click_id` String COMMENT 'ours, UUIDv7' CODEC(ZSTD(1)),
    `day` Date COMMENT 'UTC date of clicked_at_ms',
    `clicked_at_ms` Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `partner` LowCardinality(String) COMMENT 'partner of the link',
    `campaign` LowCardinality(String) COMMENT 'campaign of the link, empty when absent',
    `lookback_hours` UInt16 COMMENT 'window of the link in hours, 0 when the window of the app holds',
    `filtered_reason` LowCardinality(String) COMMENT 'why it attributes nothing, empty when it may',
    `ip` String COMMENT 'address of the visitor' CODEC(ZSTD(1)),
    `user_agent` String COMMENT 'User-Agent as sent' CODEC(ZSTD(1)),
    `click` String COMMENT 'JSON: the record of clicks.recorded.v1 without ip and user_agent' CODEC(ZSTD(1)),
    `match_keys` Array(UInt64) COMMENT 'hashes of what an install may match it by' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    `stored_at_ms` Int64 DEFAULT 0 COMMENT 'when it counts as stored, Unix epoch milliseconds, 0 for a row of before this column' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (app_id, click_id)
TTL day + toIntervalDay(90)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 4096;

CREATE MATERIALIZED VIEW clicks_stamps_mv_v1 TO report_stamps_v1
(
    `app_id` LowCardinality(String),
    `source` String,
    `day` Date,
    `rows` UInt64
)
AS SELECT
    app_id,
    'clicks' AS source,
    day,
    count() AS rows
FROM clicks_raw_v1
GROUP BY
    app_id,
    day;

CREATE TABLE costs_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the ads were for',
    `day` Date COMMENT 'UTC date of the cost',
    `partner` LowCardinality(String) COMMENT 'partner, as links have it',
    `campaign` LowCardinality(String) COMMENT 'empty when the cost names none',
    `ad_group` LowCardinality(String) COMMENT 'empty when the cost names none',
    `country` LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 in upper case, empty when the cost names none',
    `cost_micros` Int64 COMMENT 'money in micros of currency; 0 takes the cost out of reports' CODEC(ZSTD(1)),
    `currency` LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    `clicks` Nullable(UInt64) COMMENT 'clicks as the partner counts them, null when unknown' CODEC(ZSTD(1)),
    `impressions` Nullable(UInt64) COMMENT 'impressions as the partner counts them, null when unknown' CODEC(ZSTD(1)),
    `as_of_ms` Int64 COMMENT 'time of the figures by the upload, Unix epoch milliseconds, 0 without one' CODEC(ZSTD(1)),
    `number` UInt64 COMMENT 'number of the upload, of one sequence for all apps' CODEC(ZSTD(1)),
    `uploaded_at_ms` Int64 COMMENT 'when the gateway received the upload, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `version` UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(as_of_ms), 64), toUInt128(number)) COMMENT 'order of uploads: as_of_ms, then number' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (app_id, day, partner, campaign, ad_group, country)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE MATERIALIZED VIEW dimensions_stamps_mv_v1 TO report_stamps_v1
(
    `app_id` LowCardinality(String),
    `source` String,
    `day` Date,
    `rows` UInt64
)
AS SELECT
    app_id,
    'dimensions' AS source,
    day,
    count() AS rows
FROM installs_by_dimensions_v1
GROUP BY
    app_id,
    day;

CREATE TABLE erased_claims_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the transaction belongs to',
    `transaction_key` UInt64 COMMENT '64-bit hash of event_name and transaction_id' CODEC(NONE),
    `day` Date COMMENT 'UTC date of the event' CODEC(ZSTD(1)),
    `received_at_ms` Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic; empty for the claim that closes the transaction',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    `claim_rank` UInt8 COMMENT 'who claimed the transaction: 1 SDK, 2 backend, 3 receipt that the store confirmed; 255 closes it' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, transaction_key, claim_rank, topic, partition, offset)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 512, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1;

CREATE TABLE erased_events_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the events belonged to',
    `day` Date COMMENT 'UTC date of the events',
    `event_name` LowCardinality(String) COMMENT 'name of the events',
    `currency` LowCardinality(String) COMMENT 'ISO 4217 alpha-3, empty for events without revenue',
    `batch` UUID COMMENT 'batch of the eraser that took them away',
    `received_day` Date COMMENT 'UTC date on which the gateway received the events',
    `topic` LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position: partition',
    `events` UInt64 COMMENT 'number of events',
    `revenue_micros` Int128 COMMENT 'sum of their money in micros of currency, refunds negative',
    `row_keys` Array(UInt64) COMMENT '64-bit hashes of log position and key of the events; empty once done',
    `done` UInt8 COMMENT '0: some of the events may still be in the tables; 1: they are in none'
)
ENGINE = ReplacingMergeTree(done)
ORDER BY (app_id, day, event_name, currency, batch, received_day, topic, partition)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

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
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8, merge_max_block_size = 8, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, merge_selector_base = 10;

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
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 4096, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, merge_selector_base = 10;

CREATE MATERIALIZED VIEW events_per_day_mv_v1 TO events_per_day_v1
(
    `app_id` String,
    `day` Date,
    `event_name` LowCardinality(String),
    `currency` LowCardinality(String),
    `events` UInt64,
    `revenue_micros` Int128
)
AS SELECT
    if(e.topic = '', e.app_id, concat('/', e.topic, '/', toString(e.partition))) AS app_id,
    if(e.topic = '', e.day, toStartOfYear(e.day)) AS day,
    e.event_name AS event_name,
    e.currency AS currency,
    count() AS events,
    sum(if(e.revenue_counts = 1, toInt128(ifNull(e.revenue_micros, 0)), toInt128(0))) AS revenue_micros
FROM events_raw_v1 AS e
GROUP BY
    GROUPING SETS (
        (e.app_id, e.day, e.event_name, e.currency),
        (e.topic, e.partition, toStartOfYear(e.day)));

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
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, merge_selector_base = 10;

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
    `country` LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 that the gateway found for the event, empty when unknown',
    `company_id` LowCardinality(String) COMMENT 'company that owns the app',
    `audit_key` String COMMENT 'audit object that holds the request' CODEC(ZSTD(1)),
    `received_at_ms` Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `sent_at_ms` Int64 COMMENT 'client clock when sent, Unix epoch milliseconds, 0 when absent' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    `transaction_key` UInt64 DEFAULT 0 COMMENT '64-bit hash of event_name and transaction_id, 0 without money or transaction' CODEC(ZSTD(1)),
    `revenue_counts` UInt8 DEFAULT revenue_micros IS NOT NULL COMMENT '1: its money counts; 0: no money, or of a transaction that an earlier event of its partition counted' CODEC(ZSTD(1)),
    `correction_ms` Int64 DEFAULT 0 COMMENT 'what the age of the event adds to ts_ms: the error of the clock of an SDK, in milliseconds' CODEC(ZSTD(1)),
    `stored_at_ms` Int64 DEFAULT 0 COMMENT 'when it counts as stored, Unix epoch milliseconds, 0 for a row of before this column' CODEC(ZSTD(1)),
    INDEX stored_at stored_at_ms TYPE minmax GRANULARITY 1,
    INDEX ts_ms ts_ms TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (app_id, day, install_uuid, ts_ms)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, min_bytes_for_wide_part = 67108864, merge_selector_base = 10;

CREATE MATERIALIZED VIEW events_received_per_day_mv_v1 TO events_received_per_day_v1
(
    `app_id` String,
    `received_day` Date,
    `events` UInt64
)
AS SELECT
    if(e.topic = '', e.app_id, concat('/', e.topic, '/', toString(e.partition))) AS app_id,
    if(e.topic = '', toDate(fromUnixTimestamp64Milli(e.received_at_ms, 'UTC')), toStartOfYear(e.day)) AS received_day,
    count() AS events
FROM events_raw_v1 AS e
GROUP BY
    GROUPING SETS (
        (e.app_id, toDate(fromUnixTimestamp64Milli(e.received_at_ms, 'UTC'))),
        (e.topic, e.partition, toStartOfYear(e.day)));

CREATE TABLE events_received_per_day_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the events belong to',
    `received_day` Date COMMENT 'UTC date on which the gateway received the events',
    `events` UInt64 COMMENT 'number of events'
)
ENGINE = SummingMergeTree(events)
ORDER BY (app_id, received_day)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1;

CREATE MATERIALIZED VIEW frozen_clicks_stamps_mv_v1 TO report_stamps_v1
(
    `app_id` LowCardinality(String),
    `source` String,
    `day` Date,
    `rows` UInt64
)
AS SELECT
    app_id,
    'clicks' AS source,
    day,
    count() AS rows
FROM clicks_frozen_v1
WHERE is_mark = 1
GROUP BY
    app_id,
    day;

CREATE MATERIALIZED VIEW identities_mv_v1 TO identities_v1
(
    `app_id` LowCardinality(String),
    `install_uuid` String,
    `user_id` String,
    `since_ms` Int64
)
AS SELECT
    app_id,
    install_uuid,
    user_id,
    min(ts_ms) AS since_ms
FROM events_raw_v1
WHERE user_id != ''
GROUP BY
    app_id,
    install_uuid,
    user_id;

CREATE TABLE identities_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `user_id` String COMMENT 'user id of the customer' CODEC(ZSTD(1)),
    `since_ms` SimpleAggregateFunction(min, Int64) COMMENT 'time of the first event with this user id, Unix epoch milliseconds' CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (app_id, install_uuid, user_id)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1;

CREATE MATERIALIZED VIEW install_claims_mv_v1 TO install_claims_v1
(
    `app_id` LowCardinality(String),
    `click_id` String,
    `install_uuid` String,
    `day` Date,
    `installed_at_ms` Int64,
    `partner` LowCardinality(String),
    `campaign` LowCardinality(String),
    `reinstall` UInt8,
    `event_topic` LowCardinality(String),
    `event_partition` UInt32,
    `event_offset` UInt64,
    `event_index` UInt32,
    `sign` Int8,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64
)
AS SELECT
    app_id,
    click_id,
    install_uuid,
    day,
    installed_at_ms,
    partner,
    campaign,
    reinstall,
    event_topic,
    event_partition,
    event_offset,
    event_index,
    sign,
    topic,
    partition,
    offset
FROM installs_v1
WHERE click_id != '';

CREATE TABLE install_claims_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `click_id` String COMMENT 'click that brought it' CODEC(ZSTD(1)),
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `day` Date COMMENT 'UTC date of installed_at_ms',
    `installed_at_ms` Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `partner` LowCardinality(String) COMMENT 'partner of the click',
    `campaign` LowCardinality(String) COMMENT 'campaign of the click, empty when absent',
    `reinstall` UInt8 COMMENT '1 for the same device or user within the window',
    `event_topic` LowCardinality(String) COMMENT 'log position of the install event: topic and identity of the log',
    `event_partition` UInt32 COMMENT 'log position of the install event: partition' CODEC(ZSTD(1)),
    `event_offset` UInt64 COMMENT 'log position of the install event: offset' CODEC(ZSTD(1)),
    `event_index` UInt32 COMMENT 'position of the install event in its record' CODEC(ZSTD(1)),
    `sign` Int8 COMMENT '1 adds the claim, -1 cancels the one before',
    `topic` LowCardinality(String) COMMENT 'log position of the decision: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position of the decision: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position of the decision: offset' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PRIMARY KEY (app_id, click_id)
ORDER BY (app_id, click_id, install_uuid, topic, partition, offset, sign)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 128, min_compress_block_size = 4096, max_compress_block_size = 4096;

CREATE MATERIALIZED VIEW install_fact_keys_mv_v1 TO install_fact_keys_v1
(
    `app_id` LowCardinality(String),
    `match_key` UInt64,
    `received_at_ms` Int64,
    `install_uuid` String,
    `kind` LowCardinality(String),
    `installed_at_ms` Int64,
    `day` Date,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64,
    `event_index` UInt32
)
AS SELECT
    app_id,
    arrayJoin(match_keys) AS match_key,
    received_at_ms,
    install_uuid,
    kind,
    JSONExtractInt(fact, 'installed_at_ms') AS installed_at_ms,
    day,
    topic,
    partition,
    offset,
    event_index
FROM install_facts_v1;

CREATE TABLE install_fact_keys_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the event belongs to',
    `match_key` UInt64 COMMENT 'hash of the kind and the value' CODEC(NONE),
    `received_at_ms` Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `kind` LowCardinality(String) COMMENT 'install or alias',
    `installed_at_ms` Int64 COMMENT 'install time, Unix epoch milliseconds, 0 for an alias' CODEC(ZSTD(1)),
    `day` Date COMMENT 'UTC date of received_at_ms',
    `topic` LowCardinality(String) COMMENT 'log position of the event: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position of the event: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position of the event: offset' CODEC(ZSTD(1)),
    `event_index` UInt32 COMMENT 'position of the event in its record' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PRIMARY KEY (app_id, match_key)
ORDER BY (app_id, match_key, received_at_ms, install_uuid, topic, partition, offset, event_index)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 128, min_compress_block_size = 4096, max_compress_block_size = 4096;

CREATE TABLE install_facts_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the event belongs to',
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `day` Date COMMENT 'UTC date of received_at_ms',
    `received_at_ms` Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `kind` LowCardinality(String) COMMENT 'install or alias',
    `fact` String COMMENT 'JSON: the record of installs.found.v1' CODEC(ZSTD(1)),
    `match_keys` Array(UInt64) COMMENT 'hashes of what a click or another install may match it by' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position of the event: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position of the event: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position of the event: offset' CODEC(ZSTD(1)),
    `event_index` UInt32 COMMENT 'position of the event in its record' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, install_uuid, topic, partition, offset, event_index)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64, min_compress_block_size = 4096, max_compress_block_size = 4096;

CREATE MATERIALIZED VIEW installs_by_day_mv_v1 TO installs_by_day_v1
(
    `app_id` LowCardinality(String),
    `day` Date,
    `installed_at_ms` Int64,
    `install_key` UInt64,
    `partner` LowCardinality(String),
    `attribution_type` LowCardinality(String),
    `reinstall` UInt8,
    `flagged` UInt8,
    `sign` Int8,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64
)
AS SELECT
    app_id,
    day,
    installed_at_ms,
    install_key,
    partner,
    attribution_type,
    reinstall,
    notEmpty(fraud_flags) AS flagged,
    sign,
    topic,
    partition,
    offset
FROM installs_v1
WHERE pending = 0;

CREATE TABLE installs_by_day_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `day` Date COMMENT 'UTC date of installed_at_ms',
    `installed_at_ms` Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `install_key` UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets',
    `partner` LowCardinality(String) COMMENT 'partner of the click, or organic',
    `attribution_type` LowCardinality(String) COMMENT 'method that matched the click, or organic',
    `reinstall` UInt8 COMMENT '1 for the same device or user within the window',
    `flagged` UInt8 COMMENT '1 with a fraud flag',
    `sign` Int8 COMMENT '1 adds the verdict, -1 cancels the one before',
    `topic` LowCardinality(String) COMMENT 'log position of the decision: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position of the decision: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position of the decision: offset' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, day, installed_at_ms, install_key, topic, partition, offset, sign)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE MATERIALIZED VIEW installs_by_dimensions_mv_v1 TO installs_by_dimensions_v1
(
    `app_id` LowCardinality(String),
    `day` Date,
    `installed_at_ms` Int64,
    `install_key` UInt64,
    `partner` LowCardinality(String),
    `campaign` LowCardinality(String),
    `ad_group` LowCardinality(String),
    `creative` LowCardinality(String),
    `link_id` LowCardinality(String),
    `sub1` String,
    `sub2` String,
    `sub3` String,
    `sub4` String,
    `sub5` String,
    `country` LowCardinality(String),
    `attribution_type` LowCardinality(String),
    `reinstall` UInt8,
    `flagged` UInt8,
    `sign` Int8,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64
)
AS SELECT
    app_id,
    day,
    installed_at_ms,
    install_key,
    partner,
    campaign,
    ad_group,
    creative,
    link_id,
    sub1,
    sub2,
    sub3,
    sub4,
    sub5,
    country,
    attribution_type,
    reinstall,
    notEmpty(fraud_flags) AS flagged,
    sign,
    topic,
    partition,
    offset
FROM installs_v1
WHERE pending = 0;

CREATE TABLE installs_by_dimensions_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `day` Date COMMENT 'UTC date of installed_at_ms',
    `installed_at_ms` Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `install_key` UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets',
    `partner` LowCardinality(String) COMMENT 'partner of the click, or organic',
    `campaign` LowCardinality(String) COMMENT 'campaign of the click, empty when absent',
    `ad_group` LowCardinality(String) COMMENT 'ad group of the click, empty when absent',
    `creative` LowCardinality(String) COMMENT 'creative of the click, empty when absent',
    `link_id` LowCardinality(String) COMMENT 'tracking link of the click, empty when absent',
    `sub1` String COMMENT 'sub1 of the click, empty when absent' CODEC(ZSTD(1)),
    `sub2` String COMMENT 'sub2 of the click, empty when absent' CODEC(ZSTD(1)),
    `sub3` String COMMENT 'sub3 of the click, empty when absent' CODEC(ZSTD(1)),
    `sub4` String COMMENT 'sub4 of the click, empty when absent' CODEC(ZSTD(1)),
    `sub5` String COMMENT 'sub5 of the click, empty when absent' CODEC(ZSTD(1)),
    `country` LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 of the sender of the install event, empty when unknown',
    `attribution_type` LowCardinality(String) COMMENT 'method that matched the click, or organic',
    `reinstall` UInt8 COMMENT '1 for the same device or user within the window',
    `flagged` UInt8 COMMENT '1 with a fraud flag',
    `sign` Int8 COMMENT '1 adds the verdict, -1 cancels the one before',
    `topic` LowCardinality(String) COMMENT 'log position of the decision: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position of the decision: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position of the decision: offset' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, day, installed_at_ms, install_key, topic, partition, offset, sign)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE MATERIALIZED VIEW installs_by_key_mv_v1 TO installs_by_key_v1
(
    `app_id` LowCardinality(String),
    `install_key` UInt64,
    `row_key` UInt64,
    `sign` Int8,
    `day` Date,
    `installed_at_ms` Int64,
    `partner` LowCardinality(String),
    `reinstall` UInt8
)
AS SELECT
    app_id,
    install_key,
    sipHash64(topic, partition, offset) AS row_key,
    sign,
    day,
    installed_at_ms,
    partner,
    reinstall
FROM installs_v1
WHERE pending = 0;

CREATE TABLE installs_by_key_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `install_key` UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets' CODEC(NONE),
    `row_key` UInt64 COMMENT '64-bit hash of the log position of the decision' CODEC(NONE),
    `sign` Int8 COMMENT '1 adds the verdict, -1 cancels the one before',
    `day` Date COMMENT 'UTC date of installed_at_ms',
    `installed_at_ms` Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `partner` LowCardinality(String) COMMENT 'partner of the click, or organic',
    `reinstall` UInt8 COMMENT '1 for the same device or user within the window'
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, install_key, row_key, sign)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 256, min_compress_block_size = 2048, max_compress_block_size = 4096;

CREATE MATERIALIZED VIEW installs_pending_mv_v1 TO installs_pending_v1
(
    `app_id` LowCardinality(String),
    `received_at_ms` Int64,
    `install_uuid` String,
    `day` Date,
    `sign` Int8,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64
)
AS SELECT
    app_id,
    received_at_ms,
    install_uuid,
    day,
    sign,
    topic,
    partition,
    offset
FROM installs_v1
WHERE pending = 1;

CREATE TABLE installs_pending_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `received_at_ms` Int64 COMMENT 'when the gateway received the install event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `day` Date COMMENT 'UTC date of installed_at_ms',
    `sign` Int8 COMMENT '1 begins to wait, -1 ends it',
    `topic` LowCardinality(String) COMMENT 'log position of the decision: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position of the decision: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position of the decision: offset' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, received_at_ms, install_uuid, topic, partition, offset, sign)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE MATERIALIZED VIEW installs_stamps_mv_v1 TO report_stamps_v1
(
    `app_id` LowCardinality(String),
    `source` String,
    `day` Date,
    `rows` UInt64
)
AS SELECT
    app_id,
    'installs' AS source,
    day,
    count() AS rows
FROM installs_by_day_v1
GROUP BY
    app_id,
    day;

CREATE TABLE installs_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `install_key` UInt64 DEFAULT sipHash64(install_uuid) COMMENT '64-bit hash of install_uuid, for joins and sets',
    `day` Date COMMENT 'UTC date of installed_at_ms',
    `installed_at_ms` Int64 COMMENT 'install time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `received_at_ms` Int64 COMMENT 'when the gateway received the install event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `decided_at_ms` Int64 COMMENT 'when it was decided, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `pending` UInt8 COMMENT '1 while a click that we signed is not there yet: no verdict',
    `partner` LowCardinality(String) COMMENT 'partner of the click, or organic; empty while pending',
    `attribution_type` LowCardinality(String) COMMENT 'method that matched the click, or organic; empty while pending',
    `campaign` LowCardinality(String) COMMENT 'campaign of the click, empty when absent',
    `link_id` LowCardinality(String) COMMENT 'tracking link of the click, empty when absent',
    `click_id` String COMMENT 'click that brought it, empty when none did' CODEC(ZSTD(1)),
    `clicked_at_ms` Int64 COMMENT 'time of that click, Unix epoch milliseconds, 0 without one' CODEC(ZSTD(1)),
    `reinstall` UInt8 COMMENT '1 for the same device or user within the window',
    `fraud_flags` Array(LowCardinality(String)) COMMENT 'names of the fraud flags',
    `rule_version` UInt32 COMMENT 'version of the rules that decided',
    `decision` String COMMENT 'JSON: the record of installs.attributed.v1' CODEC(ZSTD(1)),
    `event_topic` LowCardinality(String) COMMENT 'log position of the install event: topic and identity of the log',
    `event_partition` UInt32 COMMENT 'log position of the install event: partition' CODEC(ZSTD(1)),
    `event_offset` UInt64 COMMENT 'log position of the install event: offset' CODEC(ZSTD(1)),
    `event_index` UInt32 COMMENT 'position of the install event in its record' CODEC(ZSTD(1)),
    `sign` Int8 COMMENT '1 adds the verdict, -1 cancels the one before',
    `topic` LowCardinality(String) COMMENT 'log position of the decision: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position of the decision: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position of the decision: offset' CODEC(ZSTD(1)),
    `country` LowCardinality(String) COMMENT 'ISO 3166-1 alpha-2 of the sender of the install event, empty when unknown',
    `ad_group` LowCardinality(String) DEFAULT JSONExtractString(arrayFirst(click -> (JSONExtractString(click, 'click_id') = click_id), JSONExtractArrayRaw(decision, 'clicks')), 'ad_group') COMMENT 'ad group of the click, empty when absent',
    `creative` LowCardinality(String) DEFAULT JSONExtractString(arrayFirst(click -> (JSONExtractString(click, 'click_id') = click_id), JSONExtractArrayRaw(decision, 'clicks')), 'creative') COMMENT 'creative of the click, empty when absent',
    `sub1` String DEFAULT JSONExtractString(decision, 'verdict', 'sub1') COMMENT 'sub1 of the click, empty when absent' CODEC(ZSTD(1)),
    `sub2` String DEFAULT JSONExtractString(decision, 'verdict', 'sub2') COMMENT 'sub2 of the click, empty when absent' CODEC(ZSTD(1)),
    `sub3` String DEFAULT JSONExtractString(decision, 'verdict', 'sub3') COMMENT 'sub3 of the click, empty when absent' CODEC(ZSTD(1)),
    `sub4` String DEFAULT JSONExtractString(decision, 'verdict', 'sub4') COMMENT 'sub4 of the click, empty when absent' CODEC(ZSTD(1)),
    `sub5` String DEFAULT JSONExtractString(decision, 'verdict', 'sub5') COMMENT 'sub5 of the click, empty when absent' CODEC(ZSTD(1)),
    `stored_at_ms` Int64 DEFAULT 0 COMMENT 'when it counts as stored, Unix epoch milliseconds, 0 for a row of before this column' CODEC(ZSTD(1)),
    `stored_index` UInt32 DEFAULT 0 COMMENT 'order of decisions that were stored at the same time' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, install_uuid, topic, partition, offset, sign)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024;

CREATE MATERIALIZED VIEW money_days_mv_v1 TO money_days_v1
(
    `app_id` LowCardinality(String),
    `install_key` UInt64,
    `day` Date
)
AS SELECT
    app_id,
    sipHash64(install_uuid) AS install_key,
    day
FROM revenue_raw_v1
GROUP BY
    app_id,
    install_key,
    day;

CREATE TABLE money_days_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `install_key` UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets',
    `day` Date COMMENT 'UTC date of events whose money counts'
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, install_key, day)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024, merge_selector_base = 10;

CREATE MATERIALIZED VIEW money_stamps_mv_v1 TO report_stamps_v1
(
    `app_id` LowCardinality(String),
    `source` String,
    `day` Date,
    `rows` UInt64,
    `added` UInt64
)
AS SELECT
    app_id,
    'money' AS source,
    day,
    count() AS rows,
    count() AS added
FROM money_days_v1
GROUP BY
    app_id,
    day;

CREATE TABLE partner_deliveries_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the install belongs to',
    `day` Date COMMENT 'UTC date of tried_at_ms',
    `delivery_key` UInt64 COMMENT 'hash that names the postback',
    `try` UInt32 COMMENT 'number of the try, from 1',
    `erased` UInt8 COMMENT '1: the install was erased, and the row names it no more',
    `partner` LowCardinality(String) COMMENT 'partner that was notified',
    `install_uuid` String COMMENT 'install that it was notified of, empty when erased' CODEC(ZSTD(1)),
    `event_name` LowCardinality(String) COMMENT 'install, or the name of the event',
    `idempotency_key` String COMMENT 'Idempotency-Key of the postback, empty when erased' CODEC(ZSTD(1)),
    `dated_at_ms` Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds, 0 when erased' CODEC(ZSTD(1)),
    `tried_at_ms` Int64 COMMENT 'when the try began, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `outcome` LowCardinality(String) COMMENT 'delivered, retry or dead',
    `status` UInt16 COMMENT 'HTTP status, 0 without an answer',
    `reason` LowCardinality(String) COMMENT 'why it was not delivered, empty when it was',
    `elapsed_ms` UInt32 COMMENT 'milliseconds until the answer or the failure',
    `answer` String COMMENT 'first 500 characters of the answer, empty when erased' CODEC(ZSTD(1)),
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, day, delivery_key, try, erased)
TTL day + toIntervalDay(90)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024;

CREATE TABLE postback_beaten_claims_v1
(
    `day` Date COMMENT 'UTC date on which the beaten postback was received',
    `claim_key` UInt64 COMMENT 'hash of postback_key, environment and log position of the beaten claim' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (day, claim_key)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE MATERIALIZED VIEW postback_claims_mv_v1 TO postback_claims_v1
(
    `postback_key` UInt64,
    `day` Date,
    `environment` LowCardinality(String),
    `received_at_ms` Int64,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64
)
AS SELECT
    postback_key,
    day,
    environment,
    received_at_ms,
    topic,
    partition,
    offset
FROM postbacks_decoded_v1
WHERE verdict = 'valid';

CREATE TABLE postback_claims_v1
(
    `postback_key` UInt64 COMMENT 'hash of protocol, network, id and sequence index' CODEC(ZSTD(1)),
    `day` Date COMMENT 'UTC date of received_at_ms',
    `environment` LowCardinality(String) COMMENT 'production or development, by the key that verified',
    `received_at_ms` Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (postback_key, environment, received_at_ms, topic, partition, offset)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 4096;

CREATE MATERIALIZED VIEW postback_publishers_mv_v1 TO postback_publishers_v1
(
    `publisher_item_id` UInt64,
    `day` Date,
    `advertised_item_id` UInt64,
    `valid` UInt8
)
AS SELECT
    publisher_item_id,
    day,
    advertised_item_id,
    max(verdict = 'valid') AS valid
FROM postbacks_decoded_v1
WHERE (publisher_item_id != 0) AND (publisher_item_id != advertised_item_id)
GROUP BY
    publisher_item_id,
    day,
    advertised_item_id;

CREATE TABLE postback_publishers_v1
(
    `publisher_item_id` UInt64 COMMENT 'store id of the app that showed the ad' CODEC(ZSTD(1)),
    `day` Date COMMENT 'UTC date of received_at_ms',
    `advertised_item_id` UInt64 COMMENT 'store id of the app that the ad was for, 0 when absent' CODEC(ZSTD(1)),
    `valid` SimpleAggregateFunction(max, UInt8) COMMENT '1 when a signature proves one of them'
)
ENGINE = AggregatingMergeTree
ORDER BY (publisher_item_id, day, advertised_item_id)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE TABLE postbacks_decoded_v1
(
    `advertised_item_id` UInt64 COMMENT 'store id of the app that the ad was for, 0 when absent',
    `day` Date COMMENT 'UTC date of received_at_ms',
    `received_at_ms` Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `protocol` LowCardinality(String) COMMENT 'skan or aak',
    `verdict` LowCardinality(String) COMMENT 'valid, invalid or unverifiable',
    `reason` LowCardinality(String) COMMENT 'why it has this verdict',
    `environment` LowCardinality(String) COMMENT 'production or development, by the key that verified; empty when none did',
    `key` LowCardinality(String) COMMENT 'name of the key that verified, empty when none did',
    `version` LowCardinality(String) COMMENT 'version of SKAN, empty for AAK',
    `network` LowCardinality(String) COMMENT 'ad network id',
    `postback_id` String COMMENT 'transaction id of SKAN or postback identifier of AAK' CODEC(ZSTD(1)),
    `sequence_index` UInt8 COMMENT '0 to 2, the number of the postback of an install',
    `publisher_item_id` UInt64 COMMENT 'store id of the app that showed the ad, 0 when absent' CODEC(ZSTD(1)),
    `source` LowCardinality(String) COMMENT 'source identifier, else campaign id',
    `redownload` Nullable(UInt8) COMMENT '1 when the app was installed before, null when not told',
    `re_engagement` UInt8 COMMENT '1 when it is no install: the app was opened again',
    `did_win` Nullable(UInt8) COMMENT '0 when the network did not win, null when not told',
    `fidelity_type` Nullable(UInt8) COMMENT '0 view-through, 1 rendered by StoreKit, null when not told',
    `fine` Nullable(UInt8) COMMENT 'conversion value, 0 to 63, null when not told' CODEC(ZSTD(1)),
    `coarse` LowCardinality(Nullable(String)) COMMENT 'low, medium or high, null when not told',
    `country` LowCardinality(Nullable(String)) COMMENT 'ISO 3166-1 alpha-2, null when not told',
    `judged_at_ms` Int64 COMMENT 'when it was judged, Unix epoch milliseconds; its received time for the first judgement' CODEC(ZSTD(1)),
    `judged_by` LowCardinality(String) COMMENT 'fingerprint of the keys that it was judged with',
    `moved` UInt8 COMMENT '1 when a later judgement reads another advertised_item_id',
    `postback_key` UInt64 DEFAULT sipHash64(protocol, network, postback_id, sequence_index) COMMENT 'hash of what may be won once' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(judged_at_ms, moved)
ORDER BY (advertised_item_id, day, topic, partition, offset)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024;

CREATE TABLE postbacks_raw_v1
(
    `day` Date COMMENT 'UTC date of received_at_ms',
    `received_at_ms` Int64 COMMENT 'when the gateway received it, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `protocol` LowCardinality(String) COMMENT 'skan or aak',
    `content_type` LowCardinality(String) COMMENT 'Content-Type as sent, empty when absent',
    `body` String COMMENT 'body as sent' CODEC(ZSTD(1)),
    `audit_key` String COMMENT 'audit object that holds it' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic and identity of the log',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (day, topic, partition, offset)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 1024;

CREATE TABLE raw_expired_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the events belong to',
    `expired_before` Date COMMENT 'raw events of earlier UTC days are gone, or are being deleted',
    `number` UInt64 COMMENT 'counts the marks of the app'
)
ENGINE = ReplacingMergeTree(number)
ORDER BY app_id
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE MATERIALIZED VIEW receipts_by_claim_mv_v1 TO receipts_by_claim_v1
(
    `app_id` LowCardinality(String),
    `claim_key` UInt64,
    `day` Date,
    `install_uuid` String,
    `event_key` UInt64,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64,
    `dated_at_ms` Int64
)
AS SELECT
    app_id,
    arrayJoin(if((event_name IN ('subscription_refunded', 'purchase_refunded')), [claim_key, sipHash64('charge', if(verdict = 'valid', transaction_id, stated_id))], [claim_key])) AS claim_key,
    day,
    install_uuid,
    event_key,
    topic,
    partition,
    offset,
    dated_at_ms
FROM receipts_v1
WHERE claim_key != 0;

CREATE TABLE receipts_by_claim_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the event belongs to',
    `claim_key` UInt64 COMMENT '64-bit hash of charge or refund, and of the transaction' CODEC(NONE),
    `day` Date COMMENT 'UTC date of the event' CODEC(ZSTD(1)),
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `event_key` UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    `dated_at_ms` Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, claim_key, day, install_uuid, event_key, topic, partition, offset)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 512, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1;

CREATE TABLE receipts_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the event belongs to',
    `day` Date COMMENT 'UTC date of ts_ms',
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `event_key` UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    `event_name` LowCardinality(String) COMMENT 'name of the event',
    `ts_ms` Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `received_at_ms` Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `dated_at_ms` Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `source` LowCardinality(String) COMMENT 'who sent the event: sdk, s2s, bulk, or store',
    `has_money` UInt8 COMMENT '1 when the event has revenue',
    `currency` LowCardinality(String) COMMENT 'currency that the event states, empty without revenue',
    `amount_micros` Int64 COMMENT 'money in micros of currency that the event states, refunds negative' CODEC(ZSTD(1)),
    `stated_id` String COMMENT 'transaction_id of the event' CODEC(ZSTD(1)),
    `receipt_hash` String COMMENT 'SHA-256 of the receipt, hexadecimal; empty without one' CODEC(ZSTD(1)),
    `store` LowCardinality(String) COMMENT 'apple or google, empty when unknown',
    `verdict` LowCardinality(String) COMMENT 'valid, invalid, sandbox or unverified',
    `reason` LowCardinality(String) COMMENT 'why, empty when there is nothing to add',
    `product_id` String COMMENT 'product as the store names it' CODEC(ZSTD(1)),
    `transaction_id` String COMMENT 'transaction as the store names it' CODEC(ZSTD(1)),
    `original_id` String COMMENT 'what all transactions of one purchase have in common' CODEC(ZSTD(1)),
    `price_currency` LowCardinality(String) COMMENT 'currency that the store names, empty when it names no price with a rate',
    `price_micros` Int64 COMMENT 'price in micros of price_currency, never negative' CODEC(ZSTD(1)),
    `taken_back_ms` Int64 COMMENT 'when the store took the purchase back, Unix epoch milliseconds, 0 when it did not' CODEC(ZSTD(1)),
    `claim_key` UInt64 COMMENT '64-bit hash of charge or refund, and of the transaction that it claims; 0 when it claims none' CODEC(NONE),
    `judged_at_ms` Int64 COMMENT 'when it was judged, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `version` UInt64 COMMENT 'grows with each verdict on the event' CODEC(ZSTD(1)),
    `event_id` String DEFAULT '' COMMENT 'idempotency key as sent, empty for a row of before this column' CODEC(ZSTD(1)),
    `stored_at_ms` Int64 DEFAULT 0 COMMENT 'when it counts as stored, Unix epoch milliseconds, 0 for a row of before this column' CODEC(ZSTD(1)),
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_original original_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stored_at stored_at_ms TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (app_id, day, install_uuid, event_key, topic, partition, offset)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1;

CREATE TABLE report_stamps_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the data belongs to; /backfill counts what the settler copied',
    `source` LowCardinality(String) COMMENT 'activity, uniques, installs or money',
    `day` Date COMMENT 'UTC date of the events, or of the installs',
    `rows` SimpleAggregateFunction(sum, UInt64) COMMENT 'number of changes',
    `added` SimpleAggregateFunction(sum, UInt64) DEFAULT 0 COMMENT 'number of those changes that only added money events',
    `changed_at_ms` SimpleAggregateFunction(max, Int64) DEFAULT toUnixTimestamp64Milli(now64(3)) COMMENT 'time of the last change by the clock of ClickHouse, Unix epoch milliseconds'
)
ENGINE = AggregatingMergeTree
ORDER BY (app_id, source, day)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192, merge_selector_base = 10;

CREATE TABLE revenue_cancelled_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the event belongs to',
    `day` Date COMMENT 'UTC date of ts_ms',
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `ts_ms` Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `event_name` LowCardinality(String) COMMENT 'name of the event',
    `event_key` UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    `currency` LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    `amount_micros` Int64 COMMENT 'money in micros of currency that does not count, refunds negative' CODEC(ZSTD(1)),
    `transaction_key` UInt64 COMMENT '64-bit hash of event_name and transaction_id' CODEC(ZSTD(1)),
    `received_at_ms` Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, day, install_uuid, transaction_key, topic, partition, offset)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1;

CREATE TABLE revenue_chosen_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the event belongs to',
    `day` Date COMMENT 'UTC date of ts_ms',
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `event_key` UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    `ts_ms` Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `correction_ms` Int64 COMMENT 'what the age of the event adds to ts_ms, in milliseconds' CODEC(ZSTD(1)),
    `install_key` UInt64 COMMENT '64-bit hash of install_uuid, for joins and sets' CODEC(NONE),
    `event_name` LowCardinality(String) COMMENT 'name of the event',
    `received_at_ms` Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `dated_at_ms` Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `counts` UInt8 COMMENT '1: the money counts',
    `currency` LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    `amount_micros` Int64 COMMENT 'money in micros of currency that counts, refunds negative, 0 when none does' CODEC(ZSTD(1)),
    `price_source` LowCardinality(String) COMMENT 'who named the amount: store, event, or empty when none counts',
    `reused` UInt8 COMMENT '1: the transaction counts for another install',
    `version` UInt64 COMMENT 'grows with each decision on the event' CODEC(ZSTD(1)),
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (app_id, day, install_uuid, event_key, topic, partition, offset)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1;

CREATE MATERIALIZED VIEW revenue_raw_mv_v1 TO revenue_raw_v1
(
    `app_id` LowCardinality(String),
    `day` Date,
    `install_uuid` String,
    `ts_ms` Int64,
    `event_name` LowCardinality(String),
    `event_key` UInt64,
    `currency` LowCardinality(String),
    `amount_micros` Int64,
    `transaction_key` UInt64,
    `received_at_ms` Int64,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64,
    `claim_rank` UInt8,
    `correction_ms` Int64
)
AS SELECT
    app_id,
    day,
    install_uuid,
    ts_ms,
    event_name,
    event_key,
    currency,
    assumeNotNull(revenue_micros) AS amount_micros,
    transaction_key,
    received_at_ms,
    topic,
    partition,
    offset,
    if(source = 'sdk', 1, 2) AS claim_rank,
    correction_ms
FROM events_raw_v1
WHERE (revenue_counts = 1) AND (revenue_micros IS NOT NULL);

CREATE TABLE revenue_raw_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the event belongs to',
    `day` Date COMMENT 'UTC date of ts_ms',
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `ts_ms` Int64 COMMENT 'event time, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `event_name` LowCardinality(String) COMMENT 'name of the event',
    `event_key` UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    `currency` LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    `amount_micros` Int64 COMMENT 'money in micros of currency, refunds negative' CODEC(ZSTD(1)),
    `transaction_key` UInt64 COMMENT '64-bit hash of event_name and transaction_id, 0 without transaction' CODEC(ZSTD(1)),
    `received_at_ms` Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    `claim_rank` UInt8 DEFAULT 2 COMMENT 'who claims the transaction: 1 SDK, 2 backend, 3 receipt that the store confirmed' CODEC(ZSTD(1)),
    `install_key` UInt64 DEFAULT sipHash64(install_uuid) COMMENT '64-bit hash of install_uuid, for joins and sets',
    `correction_ms` Int64 DEFAULT 0 COMMENT 'what the age of the event adds to ts_ms: the error of the clock of an SDK, in milliseconds' CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (app_id, day, install_uuid)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, merge_selector_base = 10;

CREATE TABLE schema_migrations_v1
(
    `version` UInt32 COMMENT 'number of the migration file',
    `name` String COMMENT 'name of the migration file without its ending',
    `checksum` String COMMENT 'SHA-256 of the file, hexadecimal'
)
ENGINE = ReplacingMergeTree
ORDER BY version
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192;

CREATE TABLE settled_campaign_cohorts_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the row belongs to',
    `day` Date COMMENT 'UTC date of the installs',
    `n` UInt16 COMMENT 'number of the 24 hours, from 0 on',
    `stamp` UInt64 COMMENT 'stamp of the day and of the days of the windows that it was worked out at',
    `countries.partner` Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `countries.campaign` Array(LowCardinality(String)) COMMENT 'campaign of the click, empty when absent',
    `countries.country` Array(LowCardinality(String)) COMMENT 'ISO 3166-1 alpha-2, empty when unknown',
    `countries.retained` Array(UInt64) COMMENT 'installs with an event in these 24 hours'
)
ENGINE = ReplacingMergeTree(stamp)
ORDER BY (app_id, day, n)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8;

CREATE TABLE settled_campaigns_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the row belongs to',
    `day` Date COMMENT 'UTC date of the installs',
    `stamp` UInt64 COMMENT 'stamp of the day when it was worked out',
    `campaigns.partner` Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `campaigns.campaign` Array(LowCardinality(String)) COMMENT 'campaign of the click, empty when absent',
    `campaigns.installs` Array(Int64) COMMENT 'number of new installs',
    `campaigns.reinstalls` Array(Int64) COMMENT 'number of reinstalls',
    `campaigns.fraud_flagged` Array(Int64) COMMENT 'number of new installs with a fraud flag',
    `countries.partner` Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `countries.campaign` Array(LowCardinality(String)) COMMENT 'campaign of the click, empty when absent',
    `countries.country` Array(LowCardinality(String)) COMMENT 'ISO 3166-1 alpha-2, empty when unknown',
    `countries.installs` Array(Int64) COMMENT 'number of new installs',
    `countries.reinstalls` Array(Int64) COMMENT 'number of reinstalls',
    `countries.fraud_flagged` Array(Int64) COMMENT 'number of new installs with a fraud flag'
)
ENGINE = ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8;

CREATE TABLE settled_clicks_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the row belongs to',
    `day` Date COMMENT 'UTC date of the clicks',
    `stamp` UInt64 COMMENT 'stamp of the day when it was worked out',
    `campaigns.partner` Array(LowCardinality(String)) COMMENT 'partner of the link',
    `campaigns.campaign` Array(LowCardinality(String)) COMMENT 'campaign of the link, empty when absent',
    `campaigns.clicks` Array(UInt64) COMMENT 'number of clicks',
    `countries.partner` Array(LowCardinality(String)) COMMENT 'partner of the link',
    `countries.campaign` Array(LowCardinality(String)) COMMENT 'campaign of the link, empty when absent',
    `countries.country` Array(LowCardinality(String)) COMMENT 'ISO 3166-1 alpha-2, empty when unknown',
    `countries.clicks` Array(UInt64) COMMENT 'number of clicks'
)
ENGINE = ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8;

CREATE TABLE settled_cohorts_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the installs belong to',
    `day` Date COMMENT 'UTC date of the installs',
    `n` UInt16 COMMENT 'number of the 24 hours, from 0 on',
    `stamp` UInt64 COMMENT 'stamp of the day and of the days of the windows that it was worked out at',
    `retained` UInt64 COMMENT 'installs with an event in these 24 hours'
)
ENGINE = ReplacingMergeTree(stamp)
ORDER BY (app_id, day, n)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8192;

CREATE TABLE settled_earnings_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the row belongs to',
    `day` Date COMMENT 'UTC date of the money',
    `stamp` UInt64 COMMENT 'stamp of the day when it was worked out',
    `earned.install_day` Array(Date) COMMENT 'UTC date of the install time of new installs' CODEC(ZSTD(1)),
    `earned.partner` Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `earned.campaign` Array(LowCardinality(String)) COMMENT 'campaign of the click, empty when absent',
    `earned.country` Array(LowCardinality(String)) COMMENT 'ISO 3166-1 alpha-2, empty when unknown',
    `earned.number` Array(UInt64) COMMENT 'hash of the log position of the verdict: it tells installs apart' CODEC(ZSTD(1)),
    `earned.age` Array(UInt16) COMMENT 'whole 24 hours from the install time to the money' CODEC(ZSTD(1)),
    `earned.currency` Array(LowCardinality(String)) COMMENT 'ISO 4217 alpha-3 in upper case',
    `earned.micros` Array(Int128) COMMENT 'sum of money in micros of currency' CODEC(ZSTD(1)),
    `earned.purchases` Array(UInt64) COMMENT 'number of money events that are no refunds' CODEC(T64, ZSTD(1)),
    `earned.paid` Array(UInt8) COMMENT '1: one of them has an amount above 0' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8;

CREATE TABLE settled_installs_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the installs belong to',
    `day` Date COMMENT 'UTC date of the installs',
    `stamp` UInt64 COMMENT 'stamp of the day when it was worked out',
    `groups.partner` Array(LowCardinality(String)) COMMENT 'partner, or organic',
    `groups.attribution_type` Array(LowCardinality(String)) COMMENT 'method that matched the click, or organic',
    `groups.installs` Array(Int64) COMMENT 'number of new installs',
    `groups.reinstalls` Array(Int64) COMMENT 'number of reinstalls',
    `groups.fraud_flagged` Array(Int64) COMMENT 'number of new installs with a fraud flag'
)
ENGINE = ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64;

CREATE TABLE settled_money_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the money belongs to',
    `day` Date COMMENT 'UTC date of the money',
    `stamp` UInt64 COMMENT 'stamp of the day when it was worked out',
    `other_changes` UInt64 DEFAULT 0 COMMENT 'changes of the stamp that did more than add money events',
    `events` UInt64 DEFAULT 0 COMMENT 'number of money events that the row was worked out from',
    `last_received_ms` Int64 DEFAULT -1 COMMENT 'when the gateway received the last one of them, Unix epoch milliseconds; -1: not noted',
    `left_out` UInt64 DEFAULT 0 COMMENT 'number of money events that were there and are not counted',
    `money.partner` Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `money.currency` Array(LowCardinality(String)) COMMENT 'ISO 4217 alpha-3 in upper case',
    `money.purchases` Array(UInt64) COMMENT 'number of money events that are no refunds',
    `money.micros` Array(Int128) COMMENT 'sum of money in micros of currency',
    `money.amounts` Array(UInt64) COMMENT 'number of amounts other than 0',
    `payers.partner` Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `payers.currencies` Array(Array(LowCardinality(String))) COMMENT 'currencies that an install paid an amount above 0 in, ascending',
    `payers.installs` Array(UInt64) COMMENT 'number of installs that paid in exactly these currencies',
    `ltv.install_day` Array(Date) COMMENT 'UTC date of the install time of new installs',
    `ltv.partner` Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `ltv.age` Array(UInt16) COMMENT 'whole 24 hours from the install time to the money',
    `ltv.currency` Array(LowCardinality(String)) COMMENT 'ISO 4217 alpha-3 in upper case',
    `ltv.micros` Array(Int128) COMMENT 'sum of money in micros of currency',
    `ltv.amounts` Array(UInt64) COMMENT 'number of amounts other than 0'
)
ENGINE = ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64;

CREATE TABLE settled_payments_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the money belongs to',
    `day` Date COMMENT 'UTC date of the money',
    `stamp` UInt64 COMMENT 'stamp of the day when it was worked out',
    `events.ts_ms` Array(Int64) COMMENT 'event time, Unix epoch milliseconds' CODEC(Delta(8), ZSTD(1)),
    `events.correction_ms` Array(Int64) COMMENT 'what the age of the event adds to ts_ms, in milliseconds' CODEC(ZSTD(1)),
    `events.number` Array(UInt32) COMMENT 'number of the install among those of the row: it names nobody' CODEC(T64, ZSTD(1)),
    `events.event_name` Array(LowCardinality(String)) COMMENT 'name of the event',
    `events.currency` Array(LowCardinality(String)) COMMENT 'ISO 4217 alpha-3 in upper case',
    `events.micros` Array(Int128) COMMENT 'money in micros of currency, refunds negative' CODEC(ZSTD(1)),
    `events.partner` Array(LowCardinality(String)) COMMENT 'partner of the newest verdict, or organic',
    `events.is_new` Array(UInt8) COMMENT '1 for an install with a verdict that is no reinstall',
    `events.installed_at_ms` Array(Int64) COMMENT 'install time, Unix epoch milliseconds; says nothing without a verdict' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 8, merge_max_block_size = 8;

CREATE TABLE settled_uniques_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the events belong to',
    `day` Date COMMENT 'UTC date of the events',
    `stamp` UInt64 COMMENT 'stamp of the day when it was worked out',
    `uniques.event_name` Array(LowCardinality(String)) COMMENT 'name of the events',
    `uniques.installs` Array(UInt64) COMMENT 'number of distinct installs'
)
ENGINE = ReplacingMergeTree(stamp)
ORDER BY (app_id, day)
SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, index_granularity = 64;

CREATE MATERIALIZED VIEW transaction_claims_mv_v1 TO transaction_claims_v1
(
    `app_id` LowCardinality(String),
    `claim_key` UInt64,
    `day` Date,
    `install_uuid` String,
    `event_name` LowCardinality(String),
    `event_key` UInt64,
    `currency` LowCardinality(String),
    `amount_micros` Int64,
    `transaction_key` UInt64,
    `claim_rank` UInt8,
    `received_at_ms` Int64,
    `dated_at_ms` Int64,
    `written_at_ms` Int64,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64
)
AS SELECT
    app_id,
    sipHash64(if((event_name IN ('subscription_refunded', 'purchase_refunded')), 'refund', 'charge'), transaction_id) AS claim_key,
    day,
    install_uuid,
    event_name,
    event_key,
    currency,
    assumeNotNull(revenue_micros) AS amount_micros,
    transaction_key,
    if(source = 'sdk', 1, 2) AS claim_rank,
    received_at_ms,
    least(received_at_ms, if((ts_ms = received_at_ms) AND (sent_at_ms > 0), sent_at_ms, ts_ms)) AS dated_at_ms,
    toUnixTimestamp64Milli(now64(3)) AS written_at_ms,
    topic,
    partition,
    offset
FROM events_raw_v1
WHERE (transaction_key != 0) AND (revenue_counts = 1) AND (revenue_micros IS NOT NULL) AND (transaction_key != bitXor(event_key, toUInt64(toUInt16(day)) * 11400714819323198485));

CREATE TABLE transaction_claims_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the transaction belongs to',
    `claim_key` UInt64 COMMENT '64-bit hash of charge or refund, and transaction_id' CODEC(NONE),
    `day` Date COMMENT 'UTC date of the event' CODEC(ZSTD(1)),
    `install_uuid` String COMMENT 'identity made by the client SDK' CODEC(ZSTD(1)),
    `event_name` LowCardinality(String) COMMENT 'name of the event',
    `event_key` UInt64 COMMENT '64-bit hash of the idempotency key' CODEC(NONE),
    `currency` LowCardinality(String) COMMENT 'ISO 4217 alpha-3 in upper case',
    `amount_micros` Int64 COMMENT 'money in micros of currency, refunds negative' CODEC(ZSTD(1)),
    `transaction_key` UInt64 COMMENT '64-bit hash of event_name and transaction_id' CODEC(ZSTD(1)),
    `claim_rank` UInt8 COMMENT 'who claims the transaction: 1 SDK, 2 backend' CODEC(ZSTD(1)),
    `received_at_ms` Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `dated_at_ms` Int64 COMMENT 'the earlier of receipt and date of the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `written_at_ms` Int64 COMMENT 'when this row was written, by the clock of ClickHouse, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    INDEX written_at written_at_ms TYPE minmax GRANULARITY 1,
    INDEX by_install install_uuid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (app_id, claim_key)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 512, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, merge_selector_base = 10;

CREATE MATERIALIZED VIEW transaction_keys_mv_v1 TO transaction_keys_v1
(
    `app_id` LowCardinality(String),
    `transaction_key` UInt64,
    `day` Date,
    `received_at_ms` Int64,
    `written_at_ms` Int64,
    `topic` LowCardinality(String),
    `partition` UInt32,
    `offset` UInt64,
    `claim_rank` UInt8
)
AS SELECT
    app_id,
    transaction_key,
    day,
    received_at_ms,
    toUnixTimestamp64Milli(now64(3)) AS written_at_ms,
    topic,
    partition,
    offset,
    claim_rank
FROM revenue_raw_v1
WHERE transaction_key != 0;

CREATE TABLE transaction_keys_v1
(
    `app_id` LowCardinality(String) COMMENT 'app that the transaction belongs to',
    `transaction_key` UInt64 COMMENT '64-bit hash of event_name and transaction_id' CODEC(NONE),
    `day` Date COMMENT 'UTC date of the event' CODEC(ZSTD(1)),
    `received_at_ms` Int64 COMMENT 'when the gateway received the event, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `written_at_ms` Int64 COMMENT 'when this row was written, by the clock of ClickHouse, Unix epoch milliseconds' CODEC(ZSTD(1)),
    `topic` LowCardinality(String) COMMENT 'log position: topic',
    `partition` UInt32 COMMENT 'log position: partition' CODEC(ZSTD(1)),
    `offset` UInt64 COMMENT 'log position: offset' CODEC(ZSTD(1)),
    `claim_rank` UInt8 DEFAULT 2 COMMENT 'who claims the transaction: 1 SDK, 2 backend, 3 receipt that the store confirmed' CODEC(ZSTD(1)),
    INDEX written_at written_at_ms TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (app_id, transaction_key)
SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 512, min_compress_block_size = 4096, max_compress_block_size = 4096, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, min_compressed_bytes_to_fsync_after_merge = 1, merge_selector_base = 10;

CREATE MATERIALIZED VIEW uniques_stamps_mv_v1 TO report_stamps_v1
(
    `app_id` LowCardinality(String),
    `source` String,
    `day` Date,
    `rows` UInt64
)
AS SELECT
    app_id,
    'uniques' AS source,
    day,
    count() AS rows
FROM event_installs_per_day_v1
GROUP BY
    app_id,
    day;
