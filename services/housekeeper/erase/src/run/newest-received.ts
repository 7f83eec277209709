import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { findActiveDays, onDays } from '../batch/find-rows.ts'
import { ofInstalls } from '../batch/sql.ts'

interface InstallOfApp {
  app_id: string
  install_uuid: string
}

/** Installs of a statement; it also holds the days of each. */
const installs_at_once = 200

/** Where receipts of installs are found. */
export interface ReceivedIn {
  clickhouse: Pick<Clickhouse, 'query'>
  /** Those in the audit store that a mark at `after_ms` does not cover: what no table shows, a duplicate that was dropped, say. */
  findAudited(app_id: string, install_uuids: readonly string[], after_ms: number): Promise<Map<string, number>>
}

/** The newest time of receipt that is stored of each install, Unix epoch ms; 0 without one that is later than `after_ms`. */
export async function findNewestReceived(
  { clickhouse, findAudited }: ReceivedIn,
  installs: readonly InstallOfApp[],
  after_ms: number,
): Promise<number[]> {
  const newest = new Map<string, number>()
  const add = (one: InstallOfApp, received_at_ms: number) =>
    newest.set(nameOf(one), Math.max(received_at_ms, newest.get(nameOf(one)) ?? 0))
  for (const [app_id, ofApp] of Map.groupBy(installs, (one) => one.app_id)) {
    for (let at = 0; at < ofApp.length; at += installs_at_once) {
      const rows = await findSome(clickhouse, app_id, ofApp.slice(at, at + installs_at_once), after_ms)
      for (const { install_uuid, received_at_ms } of rows) add({ app_id, install_uuid }, received_at_ms)
    }
    const uuids = ofApp.map(({ install_uuid }) => install_uuid)
    const audited = await findAudited(app_id, uuids, after_ms)
    for (const [install_uuid, received_at_ms] of audited) add({ app_id, install_uuid }, received_at_ms)
  }
  return installs.map((one) => newest.get(nameOf(one)) ?? 0)
}

const nameOf = ({ app_id, install_uuid }: InstallOfApp): string => JSON.stringify([app_id, install_uuid])

async function findSome(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  installs: readonly InstallOfApp[],
  after_ms: number,
) {
  const named = installs.map(({ install_uuid }) => ({ install_uuid, mark_ms: 0 }))
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
