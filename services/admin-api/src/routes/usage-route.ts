import { addRoute } from '@tributary/admin-http/add-route'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { type CompanyUsage, companyRoutes } from '@tributary/contracts/admin/companies'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { listApps } from '@tributary/tenancy/companies/apps'
import { getCompany } from '@tributary/tenancy/companies/tenants'
import { bodyBytesKey, bodyBytesMax, monthOf, quotaKey, rejectedKey } from '@tributary/tenancy/quota/quota-key'
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

/** Use of the month of a time. Throws `unknown_company`, and `unavailable` while the counters are away. */
export async function readUsage(
  { pool, keyValue }: Pick<AdminApiDeps, 'pool' | 'keyValue'>,
  id: string,
  at_ms: number,
): Promise<CompanyUsage> {
  const { monthly_quota } = await getCompany(pool, id)
  const keys = [quotaKey(id, at_ms), rejectedKey(id, at_ms), bodyBytesKey(id, at_ms)]
  const totals = Promise.all(keys.map((key) => keyValue.get(key)))
  const [used, rejected, body_bytes] = await totals.catch((cause: unknown) => {
    throw new CodedError('unavailable', { message: 'The counters are away.', cause })
  })
  return {
    ...{ company_id: id, month: monthOf(at_ms), used: used ?? 0, rejected: rejected ?? 0 },
    ...{ body_bytes: body_bytes ?? 0, monthly_quota, body_bytes_max: bodyBytesMax(monthly_quota) },
  }
}
