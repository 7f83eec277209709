import { CodedError } from '@tributary/contracts/errors'
import { isPostgresAway } from '@tributary/postgres/postgres-away'
import { countedLog } from '@tributary/service-kit/http/counted-log'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { authenticate } from './authenticate.ts'
import { type AuthorizeDeps, authorize } from './authorize.ts'
import type { PanelAddress } from './panel-origins.ts'
import { requireAdmin } from './require-admin.ts'

export interface AdmitDeps extends AuthorizeDeps, PanelAddress {
  admin_token: string
  logger: Logger
  registry: Registry
}

const requests_name = 'tributary_admin_requests_total'

/**
 * Admits callers of the declared routes below `/admin/api/v1` that `app` holds: people with a role of the route, or the admin
 * token. Each request is counted and logged.
 */
export function admit(app: FastifyInstance, deps: AdmitDeps): void {
  const { admin_token, logger, now, registry } = deps
  app.decorateRequest('caller', null)
  app.decorateRequest('panel', null)
  app.decorateRequest('target', null)
  app.decorateRequest('input', null)
  const requireToken = requireAdmin(admin_token, now, countedLog(app, logger, 'wrong admin tokens'))
  app.addHook('onRequest', authenticate({ ...deps, requireToken }))
  app.addHook('preHandler', authorize(deps))
  app.setErrorHandler((error) => {
    if (isPostgresAway(error)) throw new CodedError('unavailable', { cause: error })
    throw error
  })
  const requests = requestCounter(registry)
  app.addHook('onResponse', async (request, reply) => {
    const route = `${request.method} ${request.routeOptions.url}`
    requests.inc({ route, status: reply.statusCode })
    const { id: request_id, client_ip: ip, caller } = request
    if (caller === null) return // a line each would let anybody fill the log
    const person = caller.kind === 'person' ? { person_id: caller.session.person_id } : {}
    logger.info(
      { request_id, route, ip, ...person, status: reply.statusCode, elapsed_ms: Math.round(reply.elapsedTime) },
      'admin request',
    )
  })
  // What a session shows is that person's alone.
  app.addHook('onSend', async ({ caller, routeOptions }, reply) => {
    const isShared = caller?.kind === 'token' || routeOptions.config.declared === undefined
    if (!isShared) reply.header('cache-control', 'no-store')
  })
}

/** In standalone, services share the registry. */
const requestCounter = (registry: Registry) =>
  (registry.getSingleMetric(requests_name) as Counter<'route' | 'status'> | undefined) ??
  new Counter({
    name: requests_name,
    help: 'Requests to the admin API, by route and status',
    labelNames: ['route', 'status'],
    registers: [registry],
  })
