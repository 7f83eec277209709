import { requestDays, sdkDays, serverApps } from '@tributary/audit-store/audit-days'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { ofApps } from '@tributary/contracts/tables'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import type { LookDeps } from './look-deps.ts'

/** An app with something to compare. Days are UTC dates, ascending. */
export interface ActiveApp {
  app: AppFacts & { app_id: string }
  /** Days with audit objects of the app, or with rows that were received on them, and how many. */
  received: ReadonlyMap<string, number>
  /** Days with events whose tables are compared. */
  table_days: readonly string[]
  /** Those of them whose settled figures are compared too. */
  settled_days: readonly string[]
}

interface Wanted {
  apps: ReadonlyMap<string, AppFacts>
  /** Days of receipt. */
  days: readonly string[]
  /** Days of events. */
  table_days: readonly string[]
}

/** The apps among `apps` that have objects, rows or sums of these days. */
export async function findActive(
  { audit, clickhouse }: Pick<LookDeps, 'audit' | 'clickhouse'>,
  { apps, days, table_days }: Wanted,
): Promise<ActiveApp[]> {
  const first_day = days[0] ?? ''
  const one = apps.size === 1 ? [...apps.keys()][0] : undefined
  const ofApp = one === undefined ? ofApps : `app_id = ${textLiteral(one)}`
  const sdk = await sdkDays(audit, first_day, one)
  const servers = new Set(one === undefined ? await serverApps(audit) : [one])
  const inDays = (column: string, some: readonly string[]) => `${column} IN (${textLiterals(['1970-01-01', ...some])})`
  const rows = await clickhouse.query<{ app_id: string; on: string; kind: 'received' | 'events'; n: number }>(
    `SELECT app_id, toString(received_day) AS on, 'received' AS kind, toFloat64(sum(events)) AS n FROM events_received_per_day_v1
     WHERE ${ofApp} AND ${inDays('received_day', days)} GROUP BY app_id, on
     UNION ALL SELECT DISTINCT app_id, toString(day) AS on, 'events' AS kind, toFloat64(0) AS n FROM events_per_day_v1
     WHERE ${ofApp} AND ${inDays('day', table_days)}
     UNION ALL SELECT DISTINCT app_id, toString(day) AS on, 'events' AS kind, toFloat64(0) AS n FROM events_raw_v1
     WHERE ${ofApp} AND ${inDays('day', table_days)}`,
  )
  const byApp = Map.groupBy(rows, ({ app_id }) => app_id)
  const active: ActiveApp[] = []
  for (const [app_id, facts] of apps) {
    const own = byApp.get(app_id) ?? []
    const counts = new Map(own.filter(({ kind }) => kind === 'received').map(({ on, n }) => [on, n]))
    const with_events = new Set(own.filter(({ kind }) => kind === 'events').map(({ on }) => on))
    const asked = servers.has(app_id) ? await requestDays(audit, sdk, app_id, first_day) : (sdk.get(app_id) ?? [])
    const some = new Set([...asked, ...counts.keys()])
    const received = new Map(days.filter((day) => some.has(day)).map((day) => [day, counts.get(day) ?? 0]))
    const ofTables = table_days.filter((day) => with_events.has(day))
    if (received.size + ofTables.length === 0) continue
    active.push({ app: { app_id, ...facts }, received, table_days: ofTables, settled_days: ofTables })
  }
  return active
}
