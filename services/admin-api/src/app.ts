import { adminRoutes } from '@tributary/contracts/admin/admin-routes'
import { CodedError } from '@tributary/contracts/errors'
import { isPostgresAway } from '@tributary/postgres/postgres-away'
import { countedLog } from '@tributary/service-kit/http/counted-log'
import type { FastifyPluginAsync } from 'fastify'
import { Counter } from 'prom-client'
import type { AdminApiDeps } from './deps.ts'
import { addExportRoute } from './export/export-route.ts'
import { requireAdmin } from './require-admin.ts'
import { addAppRoutes } from './routes/app-routes.ts'
import { addAuditObjectRoute } from './routes/audit-object-route.ts'
import { addCompanyRoutes } from './routes/company-routes.ts'
import { addCvSchemaRoutes } from './routes/cv-schema-routes.ts'
import { addDeadLetterRoutes } from './routes/dead-letter-routes.ts'
import { addErasureRoutes } from './routes/erasure-routes.ts'
import { addFxRoutes } from './routes/fx-routes.ts'
import { addLinkRoutes } from './routes/link-routes.ts'
import { addReplayRoute } from './routes/replay-route.ts'
import { addServerKeyRoutes } from './routes/server-key-routes.ts'
import { addRetentionRoute, addSettleRoute } from './routes/settle-route.ts'
import { addSystemRoutes } from './routes/system-routes.ts'
import { addExpiringRoute, addUsageRoute } from './routes/usage-route.ts'

/** The routes of this service. */
export const declaredRoutes = adminRoutes

/** The admin API, `/admin/api/v1`: every request needs the admin token, every change is in `admin_audit_log`. */
export function adminApi(deps: AdminApiDeps): FastifyPluginAsync {
  const { admin_token, logger, now, registry } = deps
  const requests = new Counter({
    name: 'tributary_admin_requests_total',
    help: 'Requests to the admin API, by route and status',
    labelNames: ['route', 'status'],
    registers: [registry],
  })
  return async (outer) => {
    outer.decorateRequest('is_admin', false)
    const countRefusal = countedLog(outer, logger, 'wrong admin tokens')
    const routes: FastifyPluginAsync = async (app) => {
      app.addHook('onRequest', requireAdmin(admin_token, now, countRefusal))
      app.setErrorHandler((error) => {
        if (isPostgresAway(error)) throw new CodedError('unavailable', { cause: error })
        throw error
      })
      app.addHook('onResponse', async (request, reply) => {
        const route = `${request.method} ${request.routeOptions.url}`
        requests.inc({ route, status: reply.statusCode })
        if (!request.is_admin) return // a line each would let anybody fill the log
        const { id: request_id, client_ip: ip } = request
        logger.info(
          { request_id, route, ip, status: reply.statusCode, elapsed_ms: Math.round(reply.elapsedTime) },
          'admin request',
        )
      })
      addCompanyRoutes(app, deps)
      addUsageRoute(app, deps)
      addExpiringRoute(app, deps)
      addAppRoutes(app, deps)
      addServerKeyRoutes(app, deps)
      addLinkRoutes(app, deps)
      addCvSchemaRoutes(app, deps)
      addFxRoutes(app, deps)
      addAuditObjectRoute(app, deps)
      addExportRoute(app, deps)
      addErasureRoutes(app, deps)
      addDeadLetterRoutes(app, deps)
      addSystemRoutes(app, deps)
      addReplayRoute(app, deps)
      addSettleRoute(app, deps)
      addRetentionRoute(app, deps)
    }
    await outer.register(routes)
  }
}
