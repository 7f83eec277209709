import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { SystemStatus } from '@tributary/contracts/admin'
import { CodedError } from '@tributary/contracts/errors'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { MasterKeys } from '@tributary/postgres/master-keys'
import { isPostgresAway } from '@tributary/postgres/postgres-away'
import { countedLog } from '@tributary/service-kit/counted-log'
import type { FastifyPluginAsync } from 'fastify'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { appRoutes } from './app-routes.ts'
import { auditObjectRoute } from './audit-object-route.ts'
import { companyRoutes } from './company-routes.ts'
import { deadLetterRoutes } from './dead-letter-routes.ts'
import { fxRoutes } from './fx-routes.ts'
import { masterKeyRoute } from './master-key-route.ts'
import { replayRoute } from './replay/replay-route.ts'
import { requireAdmin } from './require-admin.ts'
import { serverKeyRoutes } from './server-key-routes.ts'
import { statusRoute } from './status-route.ts'
import { usageRoute } from './usage-route.ts'

export interface AdminApiDeps {
  pool: Pool
  masterKeys: MasterKeys
  admin_token: string
  /** The audit objects of the gateways. */
  audit: Pick<AuditStore, 'get' | 'list'>
  /** The log of accepted events, and the tables that the event-writer fills from it. */
  broker: Pick<Broker, 'publish' | 'consume' | 'groupOffsets' | 'partitionCount'>
  clickhouse: Clickhouse
  /** The counters of the gateways. */
  keyValue: Pick<KeyValue, 'get'>
  status: () => Promise<SystemStatus>
  /** Called when a replay has filled all that the audit store holds. */
  onFilled?: () => void
  now: () => number
  logger: Logger
  registry: Registry
}

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
  const refusals = countedLog(logger, 'wrong admin tokens')
  return async (outer) => {
    outer.decorateRequest('is_admin', false)
    outer.addHook('onClose', async () => refusals.flush())
    const routes: FastifyPluginAsync = async (app) => {
      app.addHook('onRoute', (route) => {
        route.bodyLimit ??= body_bytes_max
      })
      app.addHook('onRequest', requireAdmin(admin_token, now, refusals))
      app.setErrorHandler((error) => {
        if (isPostgresAway(error))
          throw new CodedError('unavailable', { headers: { 'retry-after': '5' }, cause: error })
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
