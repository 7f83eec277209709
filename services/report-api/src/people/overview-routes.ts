import { addRoute } from '@tributary/admin-http/add-route'
import { membershipsOf } from '@tributary/admin-http/caller'
import type { Membership } from '@tributary/contracts/admin/people/roles'
import { overviewRoutes, type Tiles } from '@tributary/contracts/admin/rows/overview'
import { day_ms, limits } from '@tributary/contracts/limits'
import { hasRoleOf } from '@tributary/domain/people/rights'
import type { KeyValue } from '@tributary/key-value/key-value'
import { readUsage } from '@tributary/tenancy/quota/read-usage'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { ReportSources } from '../report.ts'
import type { GetPerson } from './app-reader.ts'
import type { RowDeps } from './installs-route.ts'
import { windowOf } from './row-window.ts'
import { periodsOf, readTiles } from './tiles.ts'

interface OverviewDeps extends RowDeps, ReportSources {
  pool: Pool
  /** The counters of the gateways. */
  keyValue: Pick<KeyValue, 'get'>
  getPerson: GetPerson
}

const period_ms = 7 * day_ms

/** Figures of an app, and of all apps of a person. */
export function addOverviewRoutes(app: FastifyInstance, deps: OverviewDeps): void {
  const { getReader, getPerson, runInTurn, pool, now } = deps
  addRoute(app, overviewRoutes.getAppOverview, async ({ query }, request, reply) => {
    const reader = await getReader(request)
    const { app_id, company_id } = reader
    const periods = periodsOf(windowOf(query, now(), period_ms), now())
    const tiles = await runInTurn(reader, reply, (clickhouse) =>
      readTiles({ ...deps, clickhouse }, app_id, periods, now()),
    )
    const quota = seesCompany(membershipsOf(request), company_id) ? await readUsage(deps, company_id, now()) : null
    return { periods, tiles, quota: quota && { used: quota.used, monthly_quota: quota.monthly_quota } }
  })
  addRoute(app, overviewRoutes.getOverview, async ({ query }, request, reply) => {
    const key_id = await getPerson(request)
    const periods = periodsOf(windowOf(query, now(), period_ms), now())
    const found = await listReadApps(pool, membershipsOf(request) ?? [], query.after_app_id ?? '')
    const shown = found.slice(0, limits.overview_apps_max)
    const apps: { company_id: string; app_id: string; name: string; tiles: Tiles }[] = []
    for (const { company_id, app_id, name } of shown) {
      // Each app takes a turn of its company, so that many apps do not hold one for long.
      const tiles: Tiles = await runInTurn(
        { company_id, key_id },
        reply,
        (clickhouse) => readTiles({ ...deps, clickhouse }, app_id, periods, now()),
        apps.length > 0,
      )
      apps.push({ company_id, app_id, name, tiles })
    }
    return { periods, apps, next_app_id: found.length > shown.length ? shown.at(-1)!.app_id : null }
  })
}

/** Whether a role that reads is held over the whole company; null: the admin token. */
const seesCompany = (memberships: readonly Membership[] | null, company_id: string): boolean =>
  memberships === null ||
  memberships.some((held) => held.company_id === company_id && held.apps === null && reads(held))

const reads = (held: Membership) => hasRoleOf(overviewRoutes.getOverview, [held])

/** The apps that a person reads, in the order of their ids; one more than an answer shows. */
async function listReadApps(pool: Pool, memberships: readonly Membership[], after: string) {
  const held = memberships.filter(reads)
  const whole = held.flatMap(({ company_id, apps }) => (apps === null && company_id !== null ? [company_id] : []))
  const single = held.flatMap(({ apps }) => apps ?? [])
  const { rows } = await pool.query<{ company_id: string; app_id: string; name: string }>(
    `SELECT company_id, app_id, name FROM apps WHERE (company_id = ANY($1) OR app_id = ANY($2)) AND app_id > $3
     ORDER BY app_id LIMIT $4`,
    [whole, single, after, limits.overview_apps_max + 1],
  )
  return rows
}
