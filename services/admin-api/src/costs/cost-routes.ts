import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { getApp } from '@tributary/admin-http/authorize'
import { appCostRoutes } from '@tributary/contracts/app-costs'
import { judgeUpload } from '@tributary/domain/costs/judge-upload'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** Costs from a person, judged and stored as those with a server key are. */
export function addCostRoutes(app: FastifyInstance, { pool, costs: store, now }: AdminApiDeps): void {
  addRoute(app, appCostRoutes.uploadCosts, async ({ body }, request) => {
    const { app_id } = await getApp(pool, request)
    const uploaded_at_ms = now()
    const { costs, as_of_ms, answer } = judgeUpload(body, uploaded_at_ms)
    if (costs.length === 0) return answer
    const { accepted, rejected } = answer
    const days = costs.map(({ day }) => day).sort()
    const detail = { accepted, rejected, as_of_ms, from: days[0], to: days.at(-1) }
    // 1. Who uploads is known, also where 2. fails: it may have stored them.
    await recordAdminAction(pool, adminRequest(request, now), { action: 'costs.upload', subject: app_id, detail })
    // 2. The costs are durable.
    await store.store({ app_id, as_of_ms, uploaded_at_ms, costs })
    return answer
  })
}
