import { Readable } from 'node:stream'
import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { CodedError } from '@tributary/contracts/errors'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import { listAppFacts } from '@tributary/tenancy/companies/tenants'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { exportInstall } from './export-install.ts'

/**
 * `GET /installs/:install_uuid/export`: a line for each stored row, and a last one that says how many there were: an answer
 * without it broke off. Each export is in `admin_audit_log` before anything is shown, without the id: an erasure could not
 * take it from there.
 */
export function addExportRoute(app: FastifyInstance, { pool, clickhouse, now, logger }: AdminApiDeps): void {
  addRoute(app, storedDataRoutes.exportInstall, async ({ params, query }, request, reply) => {
    const { app_id } = query
    if (!(await listAppFacts(pool)).has(app_id)) throw new CodedError('unknown_app', { field: 'app_id' })
    const action = { action: 'install.export', subject: app_id, detail: {} }
    await recordAdminAction(pool, adminRequest(request, now), action)
    async function* lines() {
      let rows = 0
      try {
        for await (const row of exportInstall(clickhouse, { app_id, install_uuid: params.install_uuid })) {
          yield `${JSON.stringify(row)}\n`
          rows += 1
        }
        yield `${JSON.stringify({ done: true, rows })}\n`
      } catch (err) {
        logger.error({ err, app_id, rows }, 'export broke off')
        throw err
      }
    }
    reply.headers({ 'cache-control': 'no-store', connection: 'close' })
    return reply.type('application/x-ndjson; charset=utf-8').send(Readable.from(lines()))
  })
}
