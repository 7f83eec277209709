import type { Table, TableUser } from '@tributary/contracts/table'
import { erasedTables, tableNames, tables } from '@tributary/contracts/tables'

/** A service needs them to bring a replica up to date before it looks anything up. */
const replicaRights = ['SYSTEM SYNC REPLICA ON tributary.*', 'SELECT ON system.replicas']
/** A service needs them to ask all replicas which inserts they have at work. */
const processRights = ['SELECT ON system.processes', 'CREATE TEMPORARY TABLE, REMOTE ON *.*']

/** The rights of a user on each table, as the tables declare them. */
const declaredRights = (user: TableUser): string[] =>
  tableNames.flatMap((table) => {
    const { readers, writers }: Table = tables[table]
    return rightsOn(table, [readers.includes(user) && 'SELECT', writers.includes(user) && 'INSERT'])
  })

/** The rights of retention on the tables that it changes, which their declarations name it as a reader of. */
const retentionRights = (): string[] =>
  tableNames.flatMap((table) => {
    const { retention }: Table = tables[table]
    const deletes = retention?.deleted_after !== undefined || retention?.unproven
    return rightsOn(table, [retention?.blanked && 'ALTER UPDATE', deletes && 'ALTER DELETE'])
  })

/** The right to hide rows of the tables that erasures delete from, and to rewrite their parts. */
const erasureRights = (): string[] => erasedTables.map((table) => `ALTER DELETE ON tributary.${table}`)

function rightsOn(table: string, rights: readonly unknown[]): string[] {
  const given = rights.filter(Boolean)
  return given.length === 0 ? [] : [`${given.join(', ')} ON tributary.${table}`]
}

/** Makes a user, and these rights all that it has: one statement, so that services work on while it runs again. */
function roleSql(user: string, rights: readonly string[], profile = ''): string {
  const name = user.replaceAll('-', '_')
  return `CREATE USER IF NOT EXISTS tributary_${name} IDENTIFIED WITH sha256_password BY {${name}_password:String}${profile};
GRANT
  ${rights.join(',\n  ')}
TO tributary_${name} WITH REPLACE OPTION;
`
}

const serviceRoleSql = (user: TableUser, ...more: readonly string[][]): string =>
  roleSql(user, [...declaredRights(user), ...more.flat()])

/** The text of clickhouse/roles.sql. */
export const rolesSql = (): string => `\
-- Made by \`npm run dump\`. Do not edit: the rights on single tables follow from
-- packages/contracts/src/tables, all else stands in packages/clickhouse/src/schema/roles.ts.
-- A user per service, with the least rights it can work with. Applied by an operator (clickhouse/README.md), never by a
-- service. May run again, and does after an upgrade: each user has these rights then and no others, passwords stay.

CREATE DATABASE IF NOT EXISTS tributary;

-- \`tributary migrate\`. The views are made by this user and run with its rights (SQL SECURITY DEFINER is the default of
-- materialized views), so that whoever inserts events needs no right on what the views fill. It looks how many shards a
-- cluster has.
${roleSql('migrator', [
  'SELECT, INSERT, ALTER TABLE, ALTER VIEW, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY, DROP TABLE, TRUNCATE, DROP VIEW, DROP DICTIONARY, dictGet ON tributary.*',
  'SELECT ON system.clusters',
])}
-- ingest-gateway: stores costs of ads, and reads the number of the last upload. It has no right on events.
${roleSql('ingest-gateway', declaredRights('ingest-gateway'))}
-- event-writer: fills one table, looks up keys, cancels money of transactions that several partitions counted, and
-- completes what a batch that was broken off left half-done, by the views' own SELECTs, once no insert of it runs on any
-- replica. It has to see which migrations ran, to refuse where one is missing.
${serviceRoleSql('event-writer', ['SHOW TABLES, SHOW COLUMNS ON tributary.*'], replicaRights, processRights)}
-- The consumers of attribution and of postbacks. What they fill are sets, and what they look up must be there.
-- install-writer begins a new log only when no insert of an older one is at work, on any replica.
${serviceRoleSql('click-writer', replicaRights)}
${serviceRoleSql('install-attributor', replicaRights)}
${serviceRoleSql('install-writer', replicaRights, processRights)}
${serviceRoleSql('postback-writer', replicaRights)}
-- postback-forwarder: looks up verdicts and events, and logs deliveries to partners.
${serviceRoleSql('postback-forwarder', replicaRights)}
-- receipt-validator: copies rows of events whose receipts it judged, and of their money.
${serviceRoleSql('receipt-validator', replicaRights, processRights)}
-- report-api: reads. What one question may cost is limited here; the numbers are for a server of 16 GB.
CREATE SETTINGS PROFILE IF NOT EXISTS tributary_report_limits SETTINGS max_memory_usage = 4000000000, max_memory_usage_for_user = 8000000000, max_bytes_before_external_group_by = 2000000000, max_bytes_before_external_sort = 2000000000, max_bytes_ratio_before_external_sort = 0, max_concurrent_queries_for_user = 32;
${roleSql('report-api', [...declaredRights('report-api'), ...replicaRights], ' SETTINGS PROFILE tributary_report_limits')}
-- admin-api: rebuilds quota counters from what came in, and exports what is known of an install.
${serviceRoleSql('admin-api', replicaRights)}
-- eraser: deletes rows of erased installs, rewrites their parts, and fills rows that stand for several again by the views' own SELECTs.
${serviceRoleSql('eraser', erasureRights(), ['SHOW TABLES, SHOW COLUMNS ON tributary.*', 'SELECT ON system.parts'], replicaRights, processRights)}
-- reconciler: reads what it compares, and changes nothing.
${serviceRoleSql('reconciler', replicaRights)}
-- replayer: looks up which events, clicks and postbacks a replay has to fill.
${serviceRoleSql('replayer', replicaRights)}
-- retention: rewrites the parts in which it blanks or deletes something.
${serviceRoleSql('retention', retentionRights(), ['SELECT ON system.mutations'], replicaRights)}
-- settler: works out figures of days: on replicas, once the data behind a stamp is there.
${serviceRoleSql('settler', replicaRights)}`
