import { requestDays, sdkDays, serverApps } from '@tributary/audit-store/audit-days'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { ofApps } from '@tributary/contracts/tables'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import type { StoreDeps } from './look-deps.ts'

/** An app with something to compare. Days are UTC dates, ascending. */
export interface ActiveApp {
  app: AppFacts & { app_id: string }
  /** Days with audit objects of the app, or with rows that were received on them. */
  received: readonly string[]
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

const byId = ([one]: [string, unknown], [other]: [string, unknown]): number => (one < other ? -1 : 1)

/** The apps among `apps` that have objects, rows or sums of these days, by id. */
export async function findActive(
  { audit, clickhouse }: Pick<StoreDeps, 'audit' | 'clickhouse'>,
  { apps, days, table_days }: Wanted,
): Promise<ActiveApp[]> {
  const first_day = days[0] ?? ''
  const one = apps.size === 1 ? [...apps.keys()][0] : undefined
  const ofApp = one === undefined ? ofApps : `app_id = ${textLiteral(one)}`
  const sdk = await sdkDays(audit, first_day, one)
  const servers = new Set(one === undefined ? await serverApps(audit) : [one])
  const inDays = (column: string, some: readonly string[]) => `${column} IN (${textLiterals(['1970-01-01', ...some])})`
  const rows = await clickhouse.query<{ app_id: string; on: string; kind: 'received' | 'events' }>(
    `SELECT DISTINCT app_id, toString(received_day) AS on, 'received' AS kind FROM events_received_per_day_v1
     WHERE ${ofApp} AND ${inDays('received_day', days)}
     UNION ALL SELECT DISTINCT app_id, toString(day) AS on, 'events' AS kind FROM events_per_day_v1
     WHERE ${ofApp} AND ${inDays('day', table_days)}
     UNION ALL SELECT DISTINCT app_id, toString(day) AS on, 'events' AS kind FROM events_raw_v1
     WHERE ${ofApp} AND ${inDays('day', table_days)}`,
  )
  const byApp = Map.groupBy(rows, ({ app_id }) => app_id)
  const active: ActiveApp[] = []
  for (const [app_id, facts] of [...apps].toSorted(byId)) {
    const own = byApp.get(app_id) ?? []
    const daysOf = (kind: string, among: readonly string[]) => {
      const found = new Set(own.filter((row) => row.kind === kind).map(({ on }) => on))
      return among.filter((day) => found.has(day))
    }
    const asked = servers.has(app_id) ? await requestDays(audit, sdk, app_id, first_day) : (sdk.get(app_id) ?? [])
    const received = [
      ...new Set([...asked.filter((day) => days.includes(day)), ...daysOf('received', days)]),
    ].toSorted()
    const ofTables = daysOf('events', table_days)
    if (received.length + ofTables.length === 0) continue
    active.push({ app: { app_id, ...facts }, received, table_days: ofTables, settled_days: ofTables })
  }
  return active
}
