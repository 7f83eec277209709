import { adminRoutes } from '@tributary/contracts/admin/admin-routes'
import { CodedError } from '@tributary/contracts/errors'
import { isPostgresAway } from '@tributary/postgres/postgres-away'
import { countedLog } from '@tributary/service-kit/http/counted-log'
import { openGuesses } from '@tributary/tenancy/people/guesses'
import { openPasswords } from '@tributary/tenancy/people/passwords/password-hash'
import type { FastifyPluginAsync } from 'fastify'
import { Counter } from 'prom-client'
import type { AdminApiDeps } from './deps.ts'
import { addExportRoute } from './export/export-route.ts'
import { addAuditLogRoute } from './people/audit-log-route.ts'
import { authenticate } from './people/authenticate.ts'
import { authorize } from './people/authorize.ts'
import { addOwnAccountRoutes } from './people/own-account-routes.ts'
import { addPeopleRoutes } from './people/people-routes.ts'
import { addSignInRoutes } from './people/sign-in-routes.ts'
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

/**
 * The admin API, `/admin/api/v1`: every request needs the admin token or a session with a role of its route, every change is in
 * `admin_audit_log`.
 */
export function adminApi(deps: AdminApiDeps): FastifyPluginAsync {
  const { admin_token, logger, now, registry } = deps
  const signInDeps = { ...deps, passwords: openPasswords(), guesses: openGuesses(now) }
  const requests = new Counter({
    name: 'tributary_admin_requests_total',
    help: 'Requests to the admin API, by route and status',
    labelNames: ['route', 'status'],
    registers: [registry],
  })
  return async (outer) => {
    outer.decorateRequest('caller', null)
    outer.decorateRequest('panel', null)
    outer.decorateRequest('input', null)
    const countRefusal = countedLog(outer, logger, 'wrong admin tokens')
    const countFailure = countedLog(outer, logger, 'failed sign-ins')
    const routes: FastifyPluginAsync = async (app) => {
      const requireToken = requireAdmin(admin_token, now, countRefusal)
      app.addHook('onRequest', authenticate({ ...deps, requireToken }))
      app.addHook('preHandler', authorize(deps))
      app.setErrorHandler((error) => {
        if (isPostgresAway(error)) throw new CodedError('unavailable', { cause: error })
        throw error
      })
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
      addPeopleRoutes(app, deps)
      addSignInRoutes(app, signInDeps, countFailure)
      addOwnAccountRoutes(app, signInDeps)
      addAuditLogRoute(app, deps)
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
