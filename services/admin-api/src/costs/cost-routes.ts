import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { getApp } from '@tributary/admin-http/authorize'
import { appCostRoutes } from '@tributary/contracts/app-costs'
import { rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { RouteChecked } from '@tributary/contracts/route'
import { judgeUpload } from '@tributary/domain/costs/judge-upload'
import { type AdminRequest, recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/**
 * Costs from a person, judged and stored as those with a server key are. One app has few uploads at once in a process: all share the
 * places of those that wait.
 */
export function addCostRoutes(app: FastifyInstance, { pool, costs: store, now }: AdminApiDeps): void {
  const running = new Map<string, number>()

  async function upload(
    app_id: string,
    body: RouteChecked<typeof appCostRoutes.uploadCosts>['body'],
    asked: AdminRequest,
  ) {
    const uploaded_at_ms = asked.now_ms
    const { costs, as_of_ms, answer } = judgeUpload(body, uploaded_at_ms)
    if (costs.length === 0) return answer
    const { accepted, rejected } = answer
    const days = costs.map(({ day }) => day).sort()
    const detail = { accepted, rejected, as_of_ms, from: days[0], to: days.at(-1) }
    // 1. The audit log names the uploader first: an insert that failed may have stored the costs.
    await recordAdminAction(pool, asked, { action: 'costs.upload', subject: app_id, detail })
    // 2. The costs are durable.
    await store.store({ app_id, as_of_ms, uploaded_at_ms, costs })
    return answer
  }

  addRoute(app, appCostRoutes.uploadCosts, async ({ body }, request) => {
    const { app_id } = await getApp(pool, request)
    const at_once = running.get(app_id) ?? 0
    if (at_once >= limits.app_cost_uploads_max) throw rateLimited(1000)
    running.set(app_id, at_once + 1)
    try {
      return await upload(app_id, body, adminRequest(request, now))
    } finally {
      const left = (running.get(app_id) ?? 1) - 1
      if (left === 0) running.delete(app_id)
      else running.set(app_id, left)
    }
  })
}
