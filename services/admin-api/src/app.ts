import { admit } from '@tributary/admin-http/admit'
import { managingRoutes } from '@tributary/contracts/admin/admin-routes'
import { countedLog } from '@tributary/service-kit/http/counted-log'
import { openGuesses } from '@tributary/tenancy/people/guesses'
import { openPasswords } from '@tributary/tenancy/people/passwords/password-hash'
import type { FastifyPluginAsync } from 'fastify'
import { addReconcileRoute } from './asked/reconcile-route.ts'
import { addReplayRoute } from './asked/replay-route.ts'
import { addAttentionRoute } from './attention/attention-route.ts'
import { addCostRoutes } from './costs/cost-routes.ts'
import type { AdminApiDeps } from './deps.ts'
import { addExportRoute } from './export/export-route.ts'
import { addLiveRoutes } from './live/live-routes.ts'
import { addPartnerRoutes } from './partners/partner-routes.ts'
import { addAuditLogRoute } from './people/audit-log-route.ts'
import { addOidcRoutes } from './people/oidc-routes.ts'
import { addOwnAccountRoutes } from './people/own-account-routes.ts'
import { addPeopleRoutes } from './people/people-routes.ts'
import { addSignInRoutes } from './people/sign-in-routes.ts'
import { addAppRoutes } from './routes/app-routes.ts'
import { addAuditObjectRoute } from './routes/audit-object-route.ts'
import { addCompanyRoutes } from './routes/company-routes.ts'
import { addCvSchemaRoutes } from './routes/cv-schema-routes.ts'
import { addDeadLetterRoutes } from './routes/dead-letter-routes.ts'
import { addErasureRoutes } from './routes/erasure-routes.ts'
import { addFxRoutes } from './routes/fx-routes.ts'
import { addLinkRoutes } from './routes/link-routes.ts'
import { addServerKeyRoutes } from './routes/server-key-routes.ts'
import { addRetentionRoute, addSettleRoute } from './routes/settle-route.ts'
import { addSystemRoutes } from './routes/system-routes.ts'
import { addExpiringRoute, addUsageRoute } from './routes/usage-route.ts'
import { addSharedRoutes } from './shared/shared-routes.ts'
import { addStoreRoutes } from './stores/store-routes.ts'

/** The routes of this service. */
export const declaredRoutes = managingRoutes

/**
 * The admin API, `/admin/api/v1`: every request needs the admin token or a session with a role of its route, every change is in
 * `admin_audit_log`.
 */
export function adminApi(deps: AdminApiDeps): FastifyPluginAsync {
  const { logger, now } = deps
  const signInDeps = { ...deps, passwords: openPasswords(), guesses: openGuesses(now) }
  return async (outer) => {
    const countFailure = countedLog(outer, logger, 'failed sign-ins')
    const routes: FastifyPluginAsync = async (app) => {
      admit(app, deps)
      addPeopleRoutes(app, deps)
      addSignInRoutes(app, signInDeps, countFailure)
      addOidcRoutes(app, deps, countFailure)
      addOwnAccountRoutes(app, signInDeps)
      addAuditLogRoute(app, deps)
      addCompanyRoutes(app, deps)
      addUsageRoute(app, deps)
      addExpiringRoute(app, deps)
      addAppRoutes(app, deps)
      addStoreRoutes(app, deps)
      addServerKeyRoutes(app, deps)
      addLinkRoutes(app, deps)
      addPartnerRoutes(app, deps)
      addCostRoutes(app, deps)
      addSharedRoutes(app, deps)
      addCvSchemaRoutes(app, deps)
      addFxRoutes(app, deps)
      addAuditObjectRoute(app, deps)
      addExportRoute(app, deps)
      addErasureRoutes(app, deps)
      addDeadLetterRoutes(app, deps)
      addSystemRoutes(app, deps)
      addAttentionRoute(app, deps)
      addReplayRoute(app, deps)
      addReconcileRoute(app, deps)
      addSettleRoute(app, deps)
      addRetentionRoute(app, deps)
      addLiveRoutes(app, deps)
    }
    await outer.register(routes)
  }
}
