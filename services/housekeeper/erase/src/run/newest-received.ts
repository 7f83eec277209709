import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { findActiveDays, onDays } from '../batch/find-rows.ts'
import { ofInstalls } from '../batch/sql.ts'

/** Installs of a statement; it also holds the days of each. */
const installs_at_once = 200

/** The newest time of receipt that tables show of each install of an app, Unix epoch ms; of those with one that is later than `after_ms`. */
export async function findNewestReceived(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  install_uuids: readonly string[],
  after_ms: number,
): Promise<Map<string, number>> {
  const newest = new Map<string, number>()
  for (let at = 0; at < install_uuids.length; at += installs_at_once) {
    const rows = await findSome(clickhouse, app_id, install_uuids.slice(at, at + installs_at_once), after_ms)
    for (const { install_uuid, received_at_ms } of rows) newest.set(install_uuid, received_at_ms)
  }
  return newest
}

async function findSome(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  install_uuids: readonly string[],
  after_ms: number,
) {
  const named = install_uuids.map((install_uuid) => ({ install_uuid, mark_ms: 0 }))
  const active = await findActiveDays(clickhouse, app_id, named)
  // Both tables of events have rows on these days alone, and their keys begin with the day.
  const ofEvents = active.length === 0 ? [] : ['events_raw_v1', 'revenue_raw_v1']
  const tables = [
    ...ofEvents.map((table) => `${table} AS t WHERE ${onDays(active)} AND`),
    ...['install_facts_v1', 'installs_v1'].map((table) => `${table} AS t WHERE`),
  ]
  const received = tables.map(
    (table) =>
      `SELECT install_uuid, received_at_ms FROM ${table} ${ofInstalls(app_id, named)} AND received_at_ms > ${Number(after_ms)}`,
  )
  return clickhouse.query<{ install_uuid: string; received_at_ms: number }>(
    `SELECT install_uuid, max(received_at_ms) AS received_at_ms FROM (${received.join(' UNION ALL ')}) GROUP BY install_uuid`,
  )
}
