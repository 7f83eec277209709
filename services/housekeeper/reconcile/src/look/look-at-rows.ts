import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms } from '@tributary/contracts/limits'
import { comparingSettings } from '@tributary/tables/repair/compare-days'
import { type Difference, tallied } from './findings.ts'
import { objectKey } from './list-objects.ts'
import type { LookDeps } from './look-deps.ts'

/** Rows of an app that were received in a time, Unix epoch ms. */
export interface Received {
  app_id: string
  since_ms: number
  /** Exclusive. */
  until_ms: number
}

/** Names of objects that one statement gives. */
const names_together = 20_000

/**
 * SQL condition for them. Rows are in the order of the days of events; the index of `stored_at_ms` leaves out what was stored earlier. A
 * row from before that column, or that a replay without times wrote, has 0.
 */
const receivedSql = ({ app_id, since_ms, until_ms }: Received): string =>
  `app_id = ${textLiteral(app_id)} AND (stored_at_ms = 0 OR stored_at_ms >= ${since_ms - day_ms})
   AND received_at_ms >= ${since_ms} AND received_at_ms < ${until_ms}`

/** What rows say of the audit object that they name. */
export interface NamedByRows {
  /** The first of them was received, Unix epoch ms. */
  at_ms: number
  rows: number
  /** Different events among them. */
  events: number
  /** Whether it was met in the folder of its day. */
  is_listed?: true
}

/** The audit objects that rows of some times name, by audit key. */
export async function findNamed(
  { clickhouse }: Pick<LookDeps, 'clickhouse'>,
  ranges: readonly Received[],
): Promise<Map<string, NamedByRows>> {
  const named = new Map<string, NamedByRows>()
  for (const range of ranges) {
    for (let after = ''; ; ) {
      const page = await clickhouse.query<NamedByRows & { audit_key: string }>(
        `SELECT audit_key, min(received_at_ms) AS at_ms, count() AS rows, uniqExact(key_day, event_key) AS events
         FROM events_raw_v1 WHERE ${receivedSql(range)} AND source != 'store' AND audit_key > ${textLiteral(after)}
         GROUP BY audit_key ORDER BY audit_key LIMIT ${names_together} SETTINGS ${comparingSettings}`,
      )
      for (const { audit_key, ...of } of page) named.set(audit_key, of)
      if (page.length < names_together) break
      after = page.at(-1)!.audit_key
    }
  }
  return named
}

/**
 * Audit objects that rows name and that are not there. Those that were not listed with their day are looked up: a group of requests that
 * begins before midnight lies under the day before.
 */
export async function lookForObjects(
  { audit, pause, suspects }: LookDeps,
  app_id: string,
  named: ReadonlyMap<string, NamedByRows>,
): Promise<Difference[]> {
  const objects = tallied(app_id, 'audit', suspects)
  for (const [audit_key, { at_ms, rows, is_listed }] of named) {
    await pause()
    objects.expect(at_ms)
    const key = objectKey(app_id, audit_key)
    if (is_listed || (await audit.get(key)) !== null) continue
    objects.miss(at_ms, { example: `${audit_key} is not there, and ${rows} rows name it`, name: key })
  }
  return objects.differences()
}
