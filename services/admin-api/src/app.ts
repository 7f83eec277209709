import { CodedError } from '@tributary/contracts/errors'
import { isPostgresAway } from '@tributary/postgres/postgres-away'
import { countedLog } from '@tributary/service-kit/http/counted-log'
import type { FastifyPluginAsync } from 'fastify'
import { Counter } from 'prom-client'
import { deadLetterRoutes } from './dead-letters/dead-letter-routes.ts'
import type { AdminApiDeps } from './deps.ts'
import { replayRoute } from './replay/replay-route.ts'
import { requireAdmin } from './require-admin.ts'
import { appRoutes } from './routes/app-routes.ts'
import { auditObjectRoute } from './routes/audit-object-route.ts'
import { companyRoutes } from './routes/company-routes.ts'
import { fxRoutes } from './routes/fx-routes.ts'
import { masterKeyRoute } from './routes/master-key-route.ts'
import { serverKeyRoutes } from './routes/server-key-routes.ts'
import { statusRoute } from './routes/status-route.ts'
import { usageRoute } from './routes/usage-route.ts'

const body_bytes_max = 64 * 1024

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
      app.addHook('onRoute', (route) => {
        route.bodyLimit ??= body_bytes_max
      })
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
      companyRoutes(app, deps)
      usageRoute(app, deps)
      appRoutes(app, deps)
      serverKeyRoutes(app, deps)
      fxRoutes(app, deps)
      auditObjectRoute(app, deps)
      deadLetterRoutes(app, deps)
      statusRoute(app, deps)
      replayRoute(app, deps)
      masterKeyRoute(app, deps)
    }
    await outer.register(routes, { prefix: '/admin/api/v1' })
  }
}
