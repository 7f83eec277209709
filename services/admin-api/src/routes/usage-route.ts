import type { CompanyUsage } from '@tributary/contracts/admin'
import { CodedError } from '@tributary/contracts/errors'
import { getCompany } from '@tributary/tenancy/companies/tenants'
import { monthOf, quotaKey, rejectedKey } from '@tributary/tenancy/quota/quota-key'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** Use of a month (`?month=yyyy-mm`, this one by default) against the cap; a month long gone counts 0. */
export function usageRoute(app: FastifyInstance, { pool, keyValue, now }: AdminApiDeps): void {
  type Asked = { Params: { id: string }; Querystring: { month?: unknown } }
  app.get<Asked>('/companies/:id/usage', async ({ params, query }): Promise<CompanyUsage> => {
    const at_ms = query.month === undefined ? now() : monthStart(query.month)
    const { monthly_quota } = await getCompany(pool, params.id)
    const keys = [quotaKey(params.id, at_ms), rejectedKey(params.id, at_ms)]
    const totals = Promise.all(keys.map((key) => keyValue.get(key)))
    const [used, rejected] = await totals.catch((cause: unknown) => {
      throw new CodedError('unavailable', { message: 'The counters are away.', cause })
    })
    return { company_id: params.id, month: monthOf(at_ms), used: used ?? 0, rejected: rejected ?? 0, monthly_quota }
  })
}

function monthStart(month: unknown): number {
  const start =
    typeof month === 'string' && /^20\d\d-(0[1-9]|1[0-2])$/.test(month) ? Date.parse(`${month}-01`) : Number.NaN
  if (Number.isNaN(start)) throw new CodedError('invalid_field', { field: 'month', message: 'A month is yyyy-mm.' })
  return start
}
