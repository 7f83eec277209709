-- Made by `npm run dump`. Do not edit: the rights on single tables follow from
-- packages/contracts/src/tables, all else stands in packages/clickhouse/src/schema/roles.ts.
-- A user per service, with the least rights it can work with. Applied by an operator (clickhouse/README.md), never by a
-- service. May run again, and does after an upgrade: each user has these rights then and no others, passwords stay.

CREATE DATABASE IF NOT EXISTS tributary;

-- `tributary migrate`. The views are made by this user and run with its rights (SQL SECURITY DEFINER is the default of
-- materialized views), so that whoever inserts events needs no right on what the views fill. It looks how many shards a
-- cluster has.
CREATE USER IF NOT EXISTS tributary_migrator IDENTIFIED WITH sha256_password BY {migrator_password:String};
GRANT
  SELECT, INSERT, ALTER TABLE, ALTER VIEW, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY, DROP TABLE, TRUNCATE, DROP VIEW, DROP DICTIONARY, dictGet ON tributary.*,
  SELECT ON system.clusters
TO tributary_migrator WITH REPLACE OPTION;

-- ingest-gateway: stores costs of ads, and reads the number of the last upload. It has no right on events.
CREATE USER IF NOT EXISTS tributary_ingest_gateway IDENTIFIED WITH sha256_password BY {ingest_gateway_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT, INSERT ON tributary.costs_v1
TO tributary_ingest_gateway WITH REPLACE OPTION;

-- event-writer: fills one table, looks up keys, cancels money of transactions that several partitions counted, and
-- completes what a batch that was broken off left half-done, by the views' own SELECTs, once no insert of it runs on any
-- replica. It has to see which migrations ran, to refuse where one is missing.
CREATE USER IF NOT EXISTS tributary_event_writer IDENTIFIED WITH sha256_password BY {event_writer_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT, INSERT ON tributary.events_raw_v1,
  SELECT ON tributary.raw_expired_v1,
  SELECT, INSERT ON tributary.events_per_day_v1,
  SELECT, INSERT ON tributary.events_received_per_day_v1,
  INSERT ON tributary.event_installs_per_day_v1,
  INSERT ON tributary.activity_by_day_v1,
  INSERT ON tributary.identities_v1,
  SELECT, INSERT ON tributary.revenue_raw_v1,
  SELECT, INSERT ON tributary.transaction_keys_v1,
  INSERT ON tributary.transaction_claims_v1,
  SELECT, INSERT ON tributary.revenue_cancelled_v1,
  INSERT ON tributary.money_days_v1,
  SELECT, INSERT ON tributary.event_keys_v1,
  SELECT ON tributary.erased_events_v1,
  SELECT ON tributary.erased_claims_v1,
  SHOW TABLES, SHOW COLUMNS ON tributary.*,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas,
  SELECT ON system.processes,
  CREATE TEMPORARY TABLE, REMOTE ON *.*
TO tributary_event_writer WITH REPLACE OPTION;

-- The consumers of attribution and of postbacks. What they fill are sets, and what they look up must be there.
-- install-writer begins a new log only when no insert of an older one is at work, on any replica.
CREATE USER IF NOT EXISTS tributary_click_writer IDENTIFIED WITH sha256_password BY {click_writer_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT, INSERT ON tributary.clicks_raw_v1,
  SELECT, INSERT ON tributary.click_keys_v1,
  SELECT ON tributary.install_facts_v1,
  SELECT ON tributary.install_fact_keys_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_click_writer WITH REPLACE OPTION;

CREATE USER IF NOT EXISTS tributary_install_attributor IDENTIFIED WITH sha256_password BY {install_attributor_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.clicks_raw_v1,
  SELECT ON tributary.click_keys_v1,
  SELECT, INSERT ON tributary.install_facts_v1,
  SELECT, INSERT ON tributary.install_fact_keys_v1,
  SELECT ON tributary.installs_v1,
  SELECT ON tributary.install_claims_v1,
  SELECT ON tributary.installs_pending_v1,
  SELECT, INSERT ON tributary.click_floods_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_install_attributor WITH REPLACE OPTION;

CREATE USER IF NOT EXISTS tributary_install_writer IDENTIFIED WITH sha256_password BY {install_writer_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.money_days_v1,
  SELECT, INSERT ON tributary.installs_v1,
  INSERT ON tributary.installs_by_day_v1,
  INSERT ON tributary.installs_by_dimensions_v1,
  INSERT ON tributary.installs_by_key_v1,
  INSERT ON tributary.install_claims_v1,
  INSERT ON tributary.installs_pending_v1,
  INSERT ON tributary.report_stamps_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas,
  SELECT ON system.processes,
  CREATE TEMPORARY TABLE, REMOTE ON *.*
TO tributary_install_writer WITH REPLACE OPTION;

CREATE USER IF NOT EXISTS tributary_postback_writer IDENTIFIED WITH sha256_password BY {postback_writer_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT, INSERT ON tributary.postbacks_raw_v1,
  SELECT, INSERT ON tributary.postbacks_decoded_v1,
  SELECT, INSERT ON tributary.postback_claims_v1,
  SELECT, INSERT ON tributary.postback_beaten_claims_v1,
  INSERT ON tributary.postback_publishers_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_postback_writer WITH REPLACE OPTION;

-- postback-forwarder: looks up verdicts and events, and logs deliveries to partners.
CREATE USER IF NOT EXISTS tributary_postback_forwarder IDENTIFIED WITH sha256_password BY {postback_forwarder_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.events_raw_v1,
  SELECT ON tributary.installs_v1,
  INSERT ON tributary.partner_deliveries_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_postback_forwarder WITH REPLACE OPTION;

-- receipt-validator: copies rows of events whose receipts it judged, and of their money.
CREATE USER IF NOT EXISTS tributary_receipt_validator IDENTIFIED WITH sha256_password BY {receipt_validator_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.events_raw_v1,
  SELECT ON tributary.revenue_raw_v1,
  SELECT ON tributary.transaction_claims_v1,
  SELECT, INSERT ON tributary.revenue_cancelled_v1,
  SELECT, INSERT ON tributary.receipts_v1,
  SELECT, INSERT ON tributary.receipts_by_claim_v1,
  SELECT, INSERT ON tributary.revenue_chosen_v1,
  SELECT ON tributary.erased_claims_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas,
  SELECT ON system.processes,
  CREATE TEMPORARY TABLE, REMOTE ON *.*
TO tributary_receipt_validator WITH REPLACE OPTION;

-- report-api: reads. What one question may cost is limited here; the numbers are for a server of 16 GB.
CREATE SETTINGS PROFILE IF NOT EXISTS tributary_report_limits SETTINGS max_memory_usage = 4000000000, max_memory_usage_for_user = 8000000000, max_bytes_before_external_group_by = 2000000000, max_bytes_before_external_sort = 2000000000, max_bytes_ratio_before_external_sort = 0, max_concurrent_queries_for_user = 32;
CREATE USER IF NOT EXISTS tributary_report_api IDENTIFIED WITH sha256_password BY {report_api_password:String} SETTINGS PROFILE tributary_report_limits;
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.events_raw_v1,
  SELECT ON tributary.raw_expired_v1,
  SELECT ON tributary.events_per_day_v1,
  SELECT ON tributary.event_installs_per_day_v1,
  SELECT ON tributary.activity_by_day_v1,
  SELECT ON tributary.identities_v1,
  SELECT ON tributary.revenue_raw_v1,
  SELECT ON tributary.transaction_keys_v1,
  SELECT ON tributary.revenue_cancelled_v1,
  SELECT ON tributary.clicks_raw_v1,
  SELECT ON tributary.click_keys_v1,
  SELECT ON tributary.install_facts_v1,
  SELECT ON tributary.install_fact_keys_v1,
  SELECT ON tributary.installs_v1,
  SELECT ON tributary.installs_by_day_v1,
  SELECT ON tributary.installs_by_dimensions_v1,
  SELECT ON tributary.installs_by_key_v1,
  SELECT ON tributary.install_claims_v1,
  SELECT ON tributary.clicks_frozen_v1,
  SELECT ON tributary.click_floods_v1,
  SELECT ON tributary.postbacks_decoded_v1,
  SELECT ON tributary.postback_claims_v1,
  SELECT ON tributary.postback_beaten_claims_v1,
  SELECT ON tributary.postback_publishers_v1,
  SELECT ON tributary.receipts_v1,
  SELECT ON tributary.revenue_chosen_v1,
  SELECT ON tributary.report_stamps_v1,
  SELECT ON tributary.settled_installs_v1,
  SELECT ON tributary.settled_uniques_v1,
  SELECT ON tributary.settled_money_v1,
  SELECT ON tributary.settled_payments_v1,
  SELECT ON tributary.settled_cohorts_v1,
  SELECT ON tributary.settled_campaigns_v1,
  SELECT ON tributary.settled_clicks_v1,
  SELECT ON tributary.settled_earnings_v1,
  SELECT ON tributary.settled_campaign_cohorts_v1,
  SELECT ON tributary.erased_events_v1,
  SELECT ON tributary.erased_claims_v1,
  SELECT ON tributary.costs_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_report_api WITH REPLACE OPTION;

-- admin-api: rebuilds quota counters from what came in, and exports what is known of an install.
CREATE USER IF NOT EXISTS tributary_admin_api IDENTIFIED WITH sha256_password BY {admin_api_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.events_raw_v1,
  SELECT ON tributary.events_received_per_day_v1,
  SELECT ON tributary.activity_by_day_v1,
  SELECT ON tributary.identities_v1,
  SELECT ON tributary.revenue_raw_v1,
  SELECT ON tributary.transaction_claims_v1,
  SELECT ON tributary.revenue_cancelled_v1,
  SELECT ON tributary.money_days_v1,
  SELECT ON tributary.clicks_raw_v1,
  SELECT ON tributary.install_facts_v1,
  SELECT ON tributary.install_fact_keys_v1,
  SELECT ON tributary.installs_v1,
  SELECT ON tributary.installs_by_day_v1,
  SELECT ON tributary.installs_by_dimensions_v1,
  SELECT ON tributary.installs_by_key_v1,
  SELECT ON tributary.install_claims_v1,
  SELECT ON tributary.installs_pending_v1,
  SELECT ON tributary.partner_deliveries_v1,
  SELECT ON tributary.receipts_v1,
  SELECT ON tributary.receipts_by_claim_v1,
  SELECT ON tributary.revenue_chosen_v1,
  SELECT, INSERT ON tributary.costs_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_admin_api WITH REPLACE OPTION;

-- eraser: deletes rows of erased installs, rewrites their parts, and fills rows that stand for several again by the views' own SELECTs.
CREATE USER IF NOT EXISTS tributary_eraser IDENTIFIED WITH sha256_password BY {eraser_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.events_raw_v1,
  SELECT ON tributary.raw_expired_v1,
  SELECT ON tributary.events_per_day_v1,
  SELECT, INSERT ON tributary.event_installs_per_day_v1,
  SELECT, INSERT ON tributary.activity_by_day_v1,
  SELECT, INSERT ON tributary.identities_v1,
  SELECT ON tributary.revenue_raw_v1,
  SELECT ON tributary.transaction_keys_v1,
  SELECT ON tributary.transaction_claims_v1,
  SELECT, INSERT ON tributary.revenue_cancelled_v1,
  SELECT, INSERT ON tributary.money_days_v1,
  SELECT ON tributary.event_keys_v1,
  SELECT ON tributary.clicks_raw_v1,
  SELECT ON tributary.click_keys_v1,
  SELECT ON tributary.install_facts_v1,
  SELECT ON tributary.install_fact_keys_v1,
  SELECT ON tributary.installs_v1,
  SELECT ON tributary.installs_by_day_v1,
  SELECT ON tributary.installs_by_dimensions_v1,
  SELECT ON tributary.installs_by_key_v1,
  SELECT ON tributary.install_claims_v1,
  SELECT ON tributary.installs_pending_v1,
  SELECT, INSERT ON tributary.partner_deliveries_v1,
  SELECT ON tributary.receipts_v1,
  SELECT ON tributary.receipts_by_claim_v1,
  SELECT ON tributary.revenue_chosen_v1,
  INSERT ON tributary.report_stamps_v1,
  SELECT, INSERT ON tributary.erased_events_v1,
  SELECT, INSERT ON tributary.erased_claims_v1,
  ALTER DELETE ON tributary.events_raw_v1,
  ALTER DELETE ON tributary.event_installs_per_day_v1,
  ALTER DELETE ON tributary.activity_by_day_v1,
  ALTER DELETE ON tributary.identities_v1,
  ALTER DELETE ON tributary.revenue_raw_v1,
  ALTER DELETE ON tributary.transaction_keys_v1,
  ALTER DELETE ON tributary.transaction_claims_v1,
  ALTER DELETE ON tributary.revenue_cancelled_v1,
  ALTER DELETE ON tributary.money_days_v1,
  ALTER DELETE ON tributary.event_keys_v1,
  ALTER DELETE ON tributary.clicks_raw_v1,
  ALTER DELETE ON tributary.click_keys_v1,
  ALTER DELETE ON tributary.install_facts_v1,
  ALTER DELETE ON tributary.install_fact_keys_v1,
  ALTER DELETE ON tributary.installs_v1,
  ALTER DELETE ON tributary.installs_by_day_v1,
  ALTER DELETE ON tributary.installs_by_dimensions_v1,
  ALTER DELETE ON tributary.installs_by_key_v1,
  ALTER DELETE ON tributary.install_claims_v1,
  ALTER DELETE ON tributary.installs_pending_v1,
  ALTER DELETE ON tributary.partner_deliveries_v1,
  ALTER DELETE ON tributary.receipts_v1,
  ALTER DELETE ON tributary.receipts_by_claim_v1,
  ALTER DELETE ON tributary.revenue_chosen_v1,
  SHOW TABLES, SHOW COLUMNS ON tributary.*,
  SELECT ON system.parts,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas,
  SELECT ON system.processes,
  CREATE TEMPORARY TABLE, REMOTE ON *.*
TO tributary_eraser WITH REPLACE OPTION;

-- reconciler: reads what it compares, and changes nothing.
CREATE USER IF NOT EXISTS tributary_reconciler IDENTIFIED WITH sha256_password BY {reconciler_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.events_raw_v1,
  SELECT ON tributary.raw_expired_v1,
  SELECT ON tributary.events_per_day_v1,
  SELECT ON tributary.events_received_per_day_v1,
  SELECT ON tributary.event_installs_per_day_v1,
  SELECT ON tributary.activity_by_day_v1,
  SELECT ON tributary.revenue_raw_v1,
  SELECT ON tributary.transaction_keys_v1,
  SELECT ON tributary.transaction_claims_v1,
  SELECT ON tributary.revenue_cancelled_v1,
  SELECT ON tributary.money_days_v1,
  SELECT ON tributary.event_keys_v1,
  SELECT ON tributary.clicks_raw_v1,
  SELECT ON tributary.installs_v1,
  SELECT ON tributary.installs_by_day_v1,
  SELECT ON tributary.installs_by_dimensions_v1,
  SELECT ON tributary.installs_by_key_v1,
  SELECT ON tributary.postbacks_raw_v1,
  SELECT ON tributary.receipts_v1,
  SELECT ON tributary.revenue_chosen_v1,
  SELECT ON tributary.report_stamps_v1,
  SELECT ON tributary.settled_installs_v1,
  SELECT ON tributary.settled_uniques_v1,
  SELECT ON tributary.settled_money_v1,
  SELECT ON tributary.settled_payments_v1,
  SELECT ON tributary.settled_cohorts_v1,
  SELECT ON tributary.settled_campaigns_v1,
  SELECT ON tributary.settled_clicks_v1,
  SELECT ON tributary.settled_earnings_v1,
  SELECT ON tributary.settled_campaign_cohorts_v1,
  SELECT ON tributary.erased_events_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_reconciler WITH REPLACE OPTION;

-- replayer: looks up which events, clicks and postbacks a replay has to fill.
CREATE USER IF NOT EXISTS tributary_replayer IDENTIFIED WITH sha256_password BY {replayer_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.event_keys_v1,
  SELECT ON tributary.clicks_raw_v1,
  SELECT ON tributary.postbacks_raw_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_replayer WITH REPLACE OPTION;

-- retention: rewrites the parts in which it blanks or deletes something.
CREATE USER IF NOT EXISTS tributary_retention IDENTIFIED WITH sha256_password BY {retention_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.events_raw_v1,
  SELECT, INSERT ON tributary.raw_expired_v1,
  SELECT ON tributary.events_per_day_v1,
  SELECT, INSERT ON tributary.event_installs_per_day_v1,
  SELECT ON tributary.clicks_raw_v1,
  SELECT ON tributary.click_keys_v1,
  SELECT ON tributary.install_facts_v1,
  SELECT, INSERT ON tributary.clicks_frozen_v1,
  SELECT ON tributary.postbacks_raw_v1,
  SELECT ON tributary.postbacks_decoded_v1,
  SELECT ON tributary.postback_publishers_v1,
  SELECT ON tributary.erased_events_v1,
  ALTER UPDATE, ALTER DELETE ON tributary.events_raw_v1,
  ALTER UPDATE, ALTER DELETE ON tributary.clicks_raw_v1,
  ALTER DELETE ON tributary.click_keys_v1,
  ALTER UPDATE ON tributary.install_facts_v1,
  ALTER DELETE ON tributary.postbacks_raw_v1,
  ALTER DELETE ON tributary.postbacks_decoded_v1,
  ALTER DELETE ON tributary.postback_publishers_v1,
  SELECT ON system.mutations,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_retention WITH REPLACE OPTION;

-- settler: works out figures of days: on replicas, once the data behind a stamp is there.
CREATE USER IF NOT EXISTS tributary_settler IDENTIFIED WITH sha256_password BY {settler_password:String};
GRANT
  SELECT ON tributary.schema_migrations_v1,
  SELECT ON tributary.events_raw_v1,
  SELECT ON tributary.raw_expired_v1,
  SELECT ON tributary.event_installs_per_day_v1,
  SELECT ON tributary.activity_by_day_v1,
  SELECT ON tributary.revenue_raw_v1,
  SELECT ON tributary.revenue_cancelled_v1,
  SELECT ON tributary.money_days_v1,
  SELECT ON tributary.installs_v1,
  SELECT ON tributary.installs_by_day_v1,
  SELECT, INSERT ON tributary.installs_by_dimensions_v1,
  SELECT ON tributary.installs_by_key_v1,
  SELECT ON tributary.receipts_v1,
  SELECT ON tributary.revenue_chosen_v1,
  SELECT ON tributary.report_stamps_v1,
  SELECT, INSERT ON tributary.settled_installs_v1,
  SELECT, INSERT ON tributary.settled_uniques_v1,
  SELECT, INSERT ON tributary.settled_money_v1,
  SELECT, INSERT ON tributary.settled_payments_v1,
  SELECT, INSERT ON tributary.settled_cohorts_v1,
  SELECT, INSERT ON tributary.settled_campaigns_v1,
  SELECT, INSERT ON tributary.settled_clicks_v1,
  SELECT, INSERT ON tributary.settled_earnings_v1,
  SELECT, INSERT ON tributary.settled_campaign_cohorts_v1,
  SELECT ON tributary.erased_events_v1,
  SYSTEM SYNC REPLICA ON tributary.*,
  SELECT ON system.replicas
TO tributary_settler WITH REPLACE OPTION;
