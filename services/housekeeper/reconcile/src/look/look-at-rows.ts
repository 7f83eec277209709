import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms } from '@tributary/contracts/limits'
import { comparingSettings } from '@tributary/tables/repair/compare-days'
import { type Difference, tallied } from './findings.ts'
import type { LookDeps } from './look-at-requests.ts'

/** Rows of an app that were received in a time, Unix epoch ms. */
export interface Received {
  app_id: string
  since_ms: number
  /** Exclusive. */
  until_ms: number
}

/** Names of objects that one statement gives. */
const names_together = 20_000
/** Events with several rows that are named; more are as bad. */
const doubled_max = 1000

/**
 * SQL condition for them. Rows are in the order of the days of events; the index of `stored_at_ms` leaves out what was stored earlier. A
 * row from before that column, or that a replay without times wrote, has 0.
 */
const receivedSql = ({ app_id, since_ms, until_ms }: Received): string =>
  `app_id = ${textLiteral(app_id)} AND (stored_at_ms = 0 OR stored_at_ms >= ${since_ms - day_ms})
   AND received_at_ms >= ${since_ms} AND received_at_ms < ${until_ms}`

/** Events that have several rows in `events_raw_v1`. */
export async function lookAtDoubledRows({ clickhouse }: LookDeps, received: Received): Promise<Difference[]> {
  const rows = await clickhouse.query<{ at_ms: number; rows: number; event_id: string; places: string[] }>(
    `SELECT min(received_at_ms) AS at_ms, count() AS rows, any(event_id) AS event_id,
       groupArray(3)(concat(topic, '/', toString(partition), '/', toString(offset))) AS places
     FROM events_raw_v1 WHERE ${receivedSql(received)}
     GROUP BY key_day, event_key HAVING rows > 1 ORDER BY at_ms LIMIT ${doubled_max} SETTINGS ${comparingSettings}`,
  )
  const doubled = tallied(received.app_id, 'events_raw_v1')
  for (const { at_ms, rows: held, event_id, places } of rows) {
    doubled.expect(at_ms)
    doubled.exceed(at_ms, `event ${event_id} has ${held} rows: ${places.join(', ')}`, held - 1)
  }
  return doubled.differences()
}

/** Audit objects that rows of `events_raw_v1` name and that are not there. `known` are names of objects that are. */
export async function lookForObjects(
  { clickhouse, audit, pause }: LookDeps,
  received: Received,
  known: ReadonlySet<string>,
): Promise<Difference[]> {
  const objects = tallied(received.app_id, 'audit')
  for (let after = ''; ; ) {
    const named = await clickhouse.query<{ audit_key: string; at_ms: number; rows: number }>(
      `SELECT audit_key, min(received_at_ms) AS at_ms, count() AS rows FROM events_raw_v1
       WHERE ${receivedSql(received)} AND source != 'store' AND audit_key > ${textLiteral(after)}
       GROUP BY audit_key ORDER BY audit_key LIMIT ${names_together} SETTINGS ${comparingSettings}`,
    )
    for (const { audit_key, at_ms, rows } of named) {
      await pause()
      objects.expect(at_ms)
      const key = audit_key.startsWith('audit/') ? audit_key : `${received.app_id}/${audit_key}`
      if (known.has(key) || (await audit.get(key)) !== null) continue
      objects.miss(at_ms, `${audit_key} is not there, and ${rows} rows name it`)
    }
    if (named.length < names_together) return objects.differences()
    after = named.at(-1)!.audit_key
  }
}
