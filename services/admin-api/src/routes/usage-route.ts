import { addRoute } from '@tributary/admin-http/add-route'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { companyRoutes } from '@tributary/contracts/admin/companies'
import { day_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { listApps } from '@tributary/tenancy/companies/apps'
import { readUsage } from '@tributary/tenancy/quota/read-usage'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** What retention would delete of raw events with other days. */
export function addExpiringRoute(app: FastifyInstance, { pool, clickhouse, now }: AdminApiDeps): void {
  addRoute(app, companyRoutes.getExpiring, async ({ params: { id }, query: { keep_raw_days } }) => {
    const apps = (await listApps(pool, id, now())).map(({ app_id }) => app_id)
    const none = { raw_events: 0, raw_events_expired: 0 }
    if (apps.length === 0) return { keep_raw_days, ...none }
    const first_kept = utcDay(now() - keep_raw_days * day_ms)
    const [found] = await clickhouse.query<typeof none>(
      `SELECT count() AS raw_events, countIf(day < toDate(${textLiteral(first_kept)})) AS raw_events_expired
       FROM events_raw_v1 WHERE app_id IN (${textLiterals(apps)})`,
    )
    return { keep_raw_days, ...(found ?? none) }
  })
}

/** Use of a month (`?month=yyyy-mm`, this one by default) against the cap; a month long gone counts 0. */
export function addUsageRoute(app: FastifyInstance, deps: AdminApiDeps): void {
  addRoute(app, companyRoutes.getCompanyUsage, ({ params: { id }, query: { month } }) =>
    readUsage(deps, id, month === undefined ? deps.now() : Date.parse(`${month}-01`)),
  )
}
