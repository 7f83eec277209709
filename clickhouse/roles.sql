-- Made by `npm run dump`. Do not edit: the rights on single tables follow from
-- packages/contracts/src/tables, all else stands in packages/clickhouse/src/schema/roles.ts.
-- A user per service, with the least rights it can work with. Applied by an operator (clickhouse/README.md), never by a
-- service. May run again: rights are added, passwords stay.

CREATE DATABASE IF NOT EXISTS tributary;

-- `tributary migrate`. The views are made by this user and run with its rights (SQL SECURITY DEFINER is the default of
-- materialized views), so that whoever inserts events needs no right on what the views fill.
CREATE USER IF NOT EXISTS tributary_migrator IDENTIFIED WITH sha256_password BY {migrator_password:String};
GRANT SELECT, INSERT, ALTER TABLE, ALTER VIEW, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY, DROP TABLE, TRUNCATE, DROP VIEW, DROP DICTIONARY, dictGet ON tributary.* TO tributary_migrator;
-- It looks how many shards a cluster has.
GRANT SELECT ON system.clusters TO tributary_migrator;

-- event-writer: fills one table, looks up keys, cancels money of transactions that several partitions counted, and
-- completes what a batch that was broken off left half-done, by the views' own SELECTs, once no insert of it runs. It has
-- to see which migrations ran, to refuse where one is missing.
CREATE USER IF NOT EXISTS tributary_event_writer IDENTIFIED WITH sha256_password BY {event_writer_password:String};
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_event_writer;
GRANT SELECT, INSERT ON tributary.events_raw_v1 TO tributary_event_writer;
GRANT SELECT ON tributary.raw_expired_v1 TO tributary_event_writer;
GRANT SELECT, INSERT ON tributary.events_per_day_v1 TO tributary_event_writer;
GRANT SELECT, INSERT ON tributary.events_received_per_day_v1 TO tributary_event_writer;
GRANT INSERT ON tributary.event_installs_per_day_v1 TO tributary_event_writer;
GRANT INSERT ON tributary.activity_by_day_v1 TO tributary_event_writer;
GRANT INSERT ON tributary.identities_v1 TO tributary_event_writer;
GRANT SELECT, INSERT ON tributary.revenue_raw_v1 TO tributary_event_writer;
GRANT SELECT, INSERT ON tributary.transaction_keys_v1 TO tributary_event_writer;
GRANT SELECT, INSERT ON tributary.revenue_cancelled_v1 TO tributary_event_writer;
GRANT INSERT ON tributary.money_days_v1 TO tributary_event_writer;
GRANT SELECT, INSERT ON tributary.event_keys_v1 TO tributary_event_writer;
GRANT SELECT ON tributary.erased_events_v1 TO tributary_event_writer;
GRANT SELECT ON tributary.erased_claims_v1 TO tributary_event_writer;
GRANT SHOW TABLES, SHOW COLUMNS ON tributary.* TO tributary_event_writer;
GRANT SELECT ON system.processes TO tributary_event_writer;
-- ... and brings a replica up to date before it looks anything up.
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_event_writer;
-- ... and asks all replicas which inserts they have at work.
GRANT SELECT ON system.replicas TO tributary_event_writer;
GRANT CREATE TEMPORARY TABLE, REMOTE ON *.* TO tributary_event_writer;

-- The consumers of attribution and of postbacks. What they fill are sets, and what they look up must be there.
CREATE USER IF NOT EXISTS tributary_click_writer IDENTIFIED WITH sha256_password BY {click_writer_password:String};
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_click_writer;
GRANT SELECT, INSERT ON tributary.clicks_raw_v1 TO tributary_click_writer;
GRANT SELECT, INSERT ON tributary.click_keys_v1 TO tributary_click_writer;
GRANT SELECT ON tributary.install_facts_v1 TO tributary_click_writer;
GRANT SELECT ON tributary.install_fact_keys_v1 TO tributary_click_writer;
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_click_writer;
GRANT SELECT ON system.replicas TO tributary_click_writer;
CREATE USER IF NOT EXISTS tributary_install_attributor IDENTIFIED WITH sha256_password BY {install_attributor_password:String};
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_install_attributor;
GRANT SELECT ON tributary.clicks_raw_v1 TO tributary_install_attributor;
GRANT SELECT ON tributary.click_keys_v1 TO tributary_install_attributor;
GRANT SELECT, INSERT ON tributary.install_facts_v1 TO tributary_install_attributor;
GRANT SELECT, INSERT ON tributary.install_fact_keys_v1 TO tributary_install_attributor;
GRANT SELECT ON tributary.installs_v1 TO tributary_install_attributor;
GRANT SELECT ON tributary.install_claims_v1 TO tributary_install_attributor;
GRANT SELECT ON tributary.installs_pending_v1 TO tributary_install_attributor;
GRANT SELECT, INSERT ON tributary.click_floods_v1 TO tributary_install_attributor;
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_install_attributor;
GRANT SELECT ON system.replicas TO tributary_install_attributor;
CREATE USER IF NOT EXISTS tributary_install_writer IDENTIFIED WITH sha256_password BY {install_writer_password:String};
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_install_writer;
GRANT SELECT ON tributary.money_days_v1 TO tributary_install_writer;
GRANT SELECT, INSERT ON tributary.installs_v1 TO tributary_install_writer;
GRANT INSERT ON tributary.installs_by_day_v1 TO tributary_install_writer;
GRANT INSERT ON tributary.installs_by_key_v1 TO tributary_install_writer;
GRANT INSERT ON tributary.install_claims_v1 TO tributary_install_writer;
GRANT INSERT ON tributary.installs_pending_v1 TO tributary_install_writer;
GRANT INSERT ON tributary.report_stamps_v1 TO tributary_install_writer;
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_install_writer;
GRANT SELECT ON system.replicas TO tributary_install_writer;
CREATE USER IF NOT EXISTS tributary_postback_writer IDENTIFIED WITH sha256_password BY {postback_writer_password:String};
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_postback_writer;
GRANT SELECT, INSERT ON tributary.postbacks_raw_v1 TO tributary_postback_writer;
GRANT SELECT, INSERT ON tributary.postbacks_decoded_v1 TO tributary_postback_writer;
GRANT SELECT, INSERT ON tributary.postback_claims_v1 TO tributary_postback_writer;
GRANT SELECT, INSERT ON tributary.postback_beaten_claims_v1 TO tributary_postback_writer;
GRANT INSERT ON tributary.postback_publishers_v1 TO tributary_postback_writer;
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_postback_writer;
GRANT SELECT ON system.replicas TO tributary_postback_writer;
-- install-writer begins a new log only when no insert of an older one is at work, on any replica.
GRANT SELECT ON system.processes TO tributary_install_writer;
GRANT CREATE TEMPORARY TABLE, REMOTE ON *.* TO tributary_install_writer;

-- report-api: reads. What one question may cost is limited here; the numbers are for a server of 16 GB.
CREATE SETTINGS PROFILE IF NOT EXISTS tributary_report_limits SETTINGS max_memory_usage = 4000000000, max_memory_usage_for_user = 8000000000, max_bytes_before_external_group_by = 2000000000, max_bytes_before_external_sort = 2000000000, max_concurrent_queries_for_user = 32;
CREATE USER IF NOT EXISTS tributary_report_api IDENTIFIED WITH sha256_password BY {report_api_password:String} SETTINGS PROFILE tributary_report_limits;
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_report_api;
GRANT SELECT ON tributary.events_raw_v1 TO tributary_report_api;
GRANT SELECT ON tributary.raw_expired_v1 TO tributary_report_api;
GRANT SELECT ON tributary.events_per_day_v1 TO tributary_report_api;
GRANT SELECT ON tributary.event_installs_per_day_v1 TO tributary_report_api;
GRANT SELECT ON tributary.activity_by_day_v1 TO tributary_report_api;
GRANT SELECT ON tributary.identities_v1 TO tributary_report_api;
GRANT SELECT ON tributary.revenue_raw_v1 TO tributary_report_api;
GRANT SELECT ON tributary.revenue_cancelled_v1 TO tributary_report_api;
GRANT SELECT ON tributary.clicks_raw_v1 TO tributary_report_api;
GRANT SELECT ON tributary.install_facts_v1 TO tributary_report_api;
GRANT SELECT ON tributary.installs_v1 TO tributary_report_api;
GRANT SELECT ON tributary.installs_by_day_v1 TO tributary_report_api;
GRANT SELECT ON tributary.installs_by_key_v1 TO tributary_report_api;
GRANT SELECT ON tributary.install_claims_v1 TO tributary_report_api;
GRANT SELECT ON tributary.postbacks_decoded_v1 TO tributary_report_api;
GRANT SELECT ON tributary.postback_claims_v1 TO tributary_report_api;
GRANT SELECT ON tributary.postback_beaten_claims_v1 TO tributary_report_api;
GRANT SELECT ON tributary.postback_publishers_v1 TO tributary_report_api;
GRANT SELECT ON tributary.report_stamps_v1 TO tributary_report_api;
GRANT SELECT ON tributary.settled_installs_v1 TO tributary_report_api;
GRANT SELECT ON tributary.settled_uniques_v1 TO tributary_report_api;
GRANT SELECT ON tributary.settled_money_v1 TO tributary_report_api;
GRANT SELECT ON tributary.settled_payments_v1 TO tributary_report_api;
GRANT SELECT ON tributary.settled_cohorts_v1 TO tributary_report_api;
GRANT SELECT ON tributary.erased_events_v1 TO tributary_report_api;

-- admin-api: rebuilds quota counters from what came in, and looks up which events a replay has to fill.
CREATE USER IF NOT EXISTS tributary_admin_api IDENTIFIED WITH sha256_password BY {admin_api_password:String};
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.events_raw_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.raw_expired_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.events_per_day_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.events_received_per_day_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.event_installs_per_day_v1 TO tributary_admin_api;
GRANT SELECT, INSERT ON tributary.activity_by_day_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.identities_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.revenue_raw_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.revenue_cancelled_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.money_days_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.event_keys_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.clicks_raw_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.click_keys_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.install_facts_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.install_fact_keys_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.installs_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.installs_by_day_v1 TO tributary_admin_api;
GRANT SELECT, INSERT ON tributary.installs_by_key_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.install_claims_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.installs_pending_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.postbacks_raw_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.postbacks_decoded_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.postback_publishers_v1 TO tributary_admin_api;
GRANT SELECT, INSERT ON tributary.report_stamps_v1 TO tributary_admin_api;
GRANT SELECT ON tributary.erased_events_v1 TO tributary_admin_api;
-- ... once a replica has all that other servers acknowledged.
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_admin_api;
GRANT SELECT ON system.replicas TO tributary_admin_api;

-- eraser: deletes rows of erased installs, rewrites their parts, and fills rows that stand for several again by the views' own SELECTs.
CREATE USER IF NOT EXISTS tributary_eraser IDENTIFIED WITH sha256_password BY {eraser_password:String};
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_eraser;
GRANT SELECT ON tributary.events_raw_v1 TO tributary_eraser;
GRANT SELECT ON tributary.raw_expired_v1 TO tributary_eraser;
GRANT SELECT ON tributary.events_per_day_v1 TO tributary_eraser;
GRANT SELECT, INSERT ON tributary.event_installs_per_day_v1 TO tributary_eraser;
GRANT SELECT, INSERT ON tributary.activity_by_day_v1 TO tributary_eraser;
GRANT SELECT, INSERT ON tributary.identities_v1 TO tributary_eraser;
GRANT SELECT ON tributary.revenue_raw_v1 TO tributary_eraser;
GRANT SELECT ON tributary.transaction_keys_v1 TO tributary_eraser;
GRANT SELECT, INSERT ON tributary.revenue_cancelled_v1 TO tributary_eraser;
GRANT SELECT, INSERT ON tributary.money_days_v1 TO tributary_eraser;
GRANT SELECT ON tributary.event_keys_v1 TO tributary_eraser;
GRANT SELECT ON tributary.clicks_raw_v1 TO tributary_eraser;
GRANT SELECT ON tributary.click_keys_v1 TO tributary_eraser;
GRANT SELECT ON tributary.install_facts_v1 TO tributary_eraser;
GRANT SELECT ON tributary.install_fact_keys_v1 TO tributary_eraser;
GRANT SELECT ON tributary.installs_v1 TO tributary_eraser;
GRANT SELECT ON tributary.installs_by_day_v1 TO tributary_eraser;
GRANT SELECT ON tributary.installs_by_key_v1 TO tributary_eraser;
GRANT SELECT ON tributary.install_claims_v1 TO tributary_eraser;
GRANT SELECT ON tributary.installs_pending_v1 TO tributary_eraser;
GRANT INSERT ON tributary.report_stamps_v1 TO tributary_eraser;
GRANT SELECT, INSERT ON tributary.erased_events_v1 TO tributary_eraser;
GRANT SELECT, INSERT ON tributary.erased_claims_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.events_raw_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.event_installs_per_day_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.activity_by_day_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.identities_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.revenue_raw_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.transaction_keys_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.revenue_cancelled_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.money_days_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.event_keys_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.clicks_raw_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.click_keys_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.install_facts_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.install_fact_keys_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.installs_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.installs_by_day_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.installs_by_key_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.install_claims_v1 TO tributary_eraser;
GRANT ALTER DELETE ON tributary.installs_pending_v1 TO tributary_eraser;
GRANT SHOW TABLES, SHOW COLUMNS ON tributary.* TO tributary_eraser;
GRANT SELECT ON system.parts TO tributary_eraser;
GRANT SELECT ON system.processes TO tributary_eraser;
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_eraser;
GRANT SELECT ON system.replicas TO tributary_eraser;
GRANT CREATE TEMPORARY TABLE, REMOTE ON *.* TO tributary_eraser;

-- retention: rewrites the parts in which it blanks or deletes something.
CREATE USER IF NOT EXISTS tributary_retention IDENTIFIED WITH sha256_password BY {retention_password:String};
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_retention;
GRANT SELECT ON tributary.events_raw_v1 TO tributary_retention;
GRANT SELECT, INSERT ON tributary.raw_expired_v1 TO tributary_retention;
GRANT SELECT ON tributary.events_per_day_v1 TO tributary_retention;
GRANT SELECT, INSERT ON tributary.event_installs_per_day_v1 TO tributary_retention;
GRANT SELECT ON tributary.clicks_raw_v1 TO tributary_retention;
GRANT SELECT ON tributary.click_keys_v1 TO tributary_retention;
GRANT SELECT ON tributary.install_facts_v1 TO tributary_retention;
GRANT SELECT ON tributary.postbacks_raw_v1 TO tributary_retention;
GRANT SELECT ON tributary.postbacks_decoded_v1 TO tributary_retention;
GRANT SELECT ON tributary.postback_publishers_v1 TO tributary_retention;
GRANT SELECT ON tributary.erased_events_v1 TO tributary_retention;
GRANT ALTER UPDATE, ALTER DELETE ON tributary.events_raw_v1 TO tributary_retention;
GRANT ALTER UPDATE, ALTER DELETE ON tributary.clicks_raw_v1 TO tributary_retention;
GRANT ALTER DELETE ON tributary.click_keys_v1 TO tributary_retention;
GRANT ALTER UPDATE ON tributary.install_facts_v1 TO tributary_retention;
GRANT ALTER DELETE ON tributary.postbacks_raw_v1 TO tributary_retention;
GRANT ALTER DELETE ON tributary.postbacks_decoded_v1 TO tributary_retention;
GRANT ALTER DELETE ON tributary.postback_publishers_v1 TO tributary_retention;
GRANT SELECT ON system.mutations TO tributary_retention;
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_retention;
GRANT SELECT ON system.replicas TO tributary_retention;

-- settler: works out figures of days: on replicas, once the data behind a stamp is there.
CREATE USER IF NOT EXISTS tributary_settler IDENTIFIED WITH sha256_password BY {settler_password:String};
GRANT SELECT ON tributary.schema_migrations_v1 TO tributary_settler;
GRANT SELECT ON tributary.events_raw_v1 TO tributary_settler;
GRANT SELECT ON tributary.raw_expired_v1 TO tributary_settler;
GRANT SELECT ON tributary.event_installs_per_day_v1 TO tributary_settler;
GRANT SELECT ON tributary.activity_by_day_v1 TO tributary_settler;
GRANT SELECT ON tributary.revenue_raw_v1 TO tributary_settler;
GRANT SELECT ON tributary.revenue_cancelled_v1 TO tributary_settler;
GRANT SELECT ON tributary.money_days_v1 TO tributary_settler;
GRANT SELECT ON tributary.installs_by_day_v1 TO tributary_settler;
GRANT SELECT ON tributary.installs_by_key_v1 TO tributary_settler;
GRANT SELECT ON tributary.report_stamps_v1 TO tributary_settler;
GRANT SELECT, INSERT ON tributary.settled_installs_v1 TO tributary_settler;
GRANT SELECT, INSERT ON tributary.settled_uniques_v1 TO tributary_settler;
GRANT SELECT, INSERT ON tributary.settled_money_v1 TO tributary_settler;
GRANT SELECT, INSERT ON tributary.settled_payments_v1 TO tributary_settler;
GRANT SELECT, INSERT ON tributary.settled_cohorts_v1 TO tributary_settler;
GRANT SELECT ON tributary.erased_events_v1 TO tributary_settler;
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_settler;
GRANT SELECT ON system.replicas TO tributary_settler;
