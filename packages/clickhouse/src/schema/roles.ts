import type { Table, TableUser } from '@tributary/contracts/table'
import { erasedTables, tableNames, tables } from '@tributary/contracts/tables'

/** The rights of a user on each table, as the tables declare them. */
function grants(user: TableUser): string {
  const name = `tributary_${user.replaceAll('-', '_')}`
  const lines = tableNames.flatMap((table) => {
    const { readers, writers }: Table = tables[table]
    const rights = [readers.includes(user) && 'SELECT', writers.includes(user) && 'INSERT'].filter(Boolean)
    return rights.length === 0 ? [] : [`GRANT ${rights.join(', ')} ON tributary.${table} TO ${name};`]
  })
  return lines.join('\n')
}

/** The rights of retention on the tables that it changes, which their declarations name it as a reader of. */
function retentionGrants(): string {
  const lines = tableNames.flatMap((table) => {
    const { retention }: Table = tables[table]
    const deletes = retention?.deleted_after !== undefined || retention?.unproven
    const rights = [retention?.blanked && 'ALTER UPDATE', deletes && 'ALTER DELETE'].filter(Boolean)
    return rights.length === 0 ? [] : [`GRANT ${rights.join(', ')} ON tributary.${table} TO tributary_retention;`]
  })
  return lines.join('\n')
}

/** The right to hide rows of the tables that erasures delete from, and to rewrite their parts. */
const erasureGrants = (): string =>
  erasedTables.map((table) => `GRANT ALTER DELETE ON tributary.${table} TO tributary_eraser;`).join('\n')

const setWriters = ['click-writer', 'install-attributor', 'install-writer', 'postback-writer'] as const

function setWriter(user: (typeof setWriters)[number]): string {
  const name = user.replaceAll('-', '_')
  return `CREATE USER IF NOT EXISTS tributary_${name} IDENTIFIED WITH sha256_password BY {${name}_password:String};
${grants(user)}
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_${name};
GRANT SELECT ON system.replicas TO tributary_${name};`
}

/** The text of clickhouse/roles.sql. */
export const rolesSql = (): string => `\
-- Made by \`npm run dump\`. Do not edit: the rights on single tables follow from
-- packages/contracts/src/tables, all else stands in packages/clickhouse/src/schema/roles.ts.
-- A user per service, with the least rights it can work with. Applied by an operator (clickhouse/README.md), never by a
-- service. May run again: rights are added, passwords stay.

CREATE DATABASE IF NOT EXISTS tributary;

-- \`tributary migrate\`. The views are made by this user and run with its rights (SQL SECURITY DEFINER is the default of
-- materialized views), so that whoever inserts events needs no right on what the views fill.
CREATE USER IF NOT EXISTS tributary_migrator IDENTIFIED WITH sha256_password BY {migrator_password:String};
GRANT SELECT, INSERT, ALTER TABLE, ALTER VIEW, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY, DROP TABLE, TRUNCATE, DROP VIEW, DROP DICTIONARY, dictGet ON tributary.* TO tributary_migrator;
-- It looks how many shards a cluster has.
GRANT SELECT ON system.clusters TO tributary_migrator;

-- event-writer: fills one table, looks up keys, cancels money of transactions that several partitions counted, and
-- completes what a batch that was broken off left half-done, by the views' own SELECTs, once no insert of it runs. It has
-- to see which migrations ran, to refuse where one is missing.
CREATE USER IF NOT EXISTS tributary_event_writer IDENTIFIED WITH sha256_password BY {event_writer_password:String};
${grants('event-writer')}
GRANT SHOW TABLES, SHOW COLUMNS ON tributary.* TO tributary_event_writer;
GRANT SELECT ON system.processes TO tributary_event_writer;
-- ... and brings a replica up to date before it looks anything up.
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_event_writer;
-- ... and asks all replicas which inserts they have at work.
GRANT SELECT ON system.replicas TO tributary_event_writer;
GRANT CREATE TEMPORARY TABLE, REMOTE ON *.* TO tributary_event_writer;

-- The consumers of attribution and of postbacks. What they fill are sets, and what they look up must be there.
${setWriters.map(setWriter).join('\n')}
-- install-writer begins a new log only when no insert of an older one is at work, on any replica.
GRANT SELECT ON system.processes TO tributary_install_writer;
GRANT CREATE TEMPORARY TABLE, REMOTE ON *.* TO tributary_install_writer;

-- report-api: reads. What one question may cost is limited here; the numbers are for a server of 16 GB.
CREATE SETTINGS PROFILE IF NOT EXISTS tributary_report_limits SETTINGS max_memory_usage = 4000000000, max_memory_usage_for_user = 8000000000, max_bytes_before_external_group_by = 2000000000, max_bytes_before_external_sort = 2000000000, max_concurrent_queries_for_user = 32;
CREATE USER IF NOT EXISTS tributary_report_api IDENTIFIED WITH sha256_password BY {report_api_password:String} SETTINGS PROFILE tributary_report_limits;
${grants('report-api')}

-- admin-api: rebuilds quota counters from what came in, and looks up which events a replay has to fill.
CREATE USER IF NOT EXISTS tributary_admin_api IDENTIFIED WITH sha256_password BY {admin_api_password:String};
${grants('admin-api')}
-- ... once a replica has all that other servers acknowledged.
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_admin_api;
GRANT SELECT ON system.replicas TO tributary_admin_api;

-- eraser: deletes rows of erased installs, rewrites their parts, and fills rows that stand for several again by the views' own SELECTs.
CREATE USER IF NOT EXISTS tributary_eraser IDENTIFIED WITH sha256_password BY {eraser_password:String};
${grants('eraser')}
${erasureGrants()}
GRANT SHOW TABLES, SHOW COLUMNS ON tributary.* TO tributary_eraser;
GRANT SELECT ON system.parts TO tributary_eraser;
GRANT SELECT ON system.processes TO tributary_eraser;
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_eraser;
GRANT SELECT ON system.replicas TO tributary_eraser;
GRANT CREATE TEMPORARY TABLE, REMOTE ON *.* TO tributary_eraser;

-- retention: rewrites the parts in which it blanks or deletes something.
CREATE USER IF NOT EXISTS tributary_retention IDENTIFIED WITH sha256_password BY {retention_password:String};
${grants('retention')}
${retentionGrants()}
GRANT SELECT ON system.mutations TO tributary_retention;
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_retention;
GRANT SELECT ON system.replicas TO tributary_retention;

-- settler: works out figures of days: on replicas, once the data behind a stamp is there.
CREATE USER IF NOT EXISTS tributary_settler IDENTIFIED WITH sha256_password BY {settler_password:String};
${grants('settler')}
GRANT SYSTEM SYNC REPLICA ON tributary.* TO tributary_settler;
GRANT SELECT ON system.replicas TO tributary_settler;
`
