import { appCostRoutes } from '../costs/app-costs.ts'
import type { Routes } from '../routes/route.ts'
import { appRoutes } from './apps.ts'
import { attentionRoutes } from './attention.ts'
import { companyRoutes } from './companies.ts'
import { cvSchemaRoutes } from './cv-schemas.ts'
import { deadLetterRoutes } from './dead-letters.ts'
import { erasureRoutes } from './erasures.ts'
import { linkRoutes } from './links.ts'
import { followRoutes } from './live/follow.ts'
import { liveRoutes } from './live/live.ts'
import { partnerRoutes } from './partners/partners.ts'
import { auditLogRoutes } from './people/audit-log.ts'
import { oidcRoutes } from './people/oidc.ts'
import { ownAccountRoutes } from './people/own-account.ts'
import { peopleRoutes } from './people/people.ts'
import { signInRoutes } from './people/sign-in.ts'
import { retentionRoutes } from './retention.ts'
import { rowRoutes } from './rows/row-routes.ts'
import { serverKeyRoutes } from './server-keys.ts'
import { dayNoteRoutes } from './shared/day-notes.ts'
import { savedViewRoutes } from './shared/saved-views.ts'
import { storedDataRoutes } from './stored-data.ts'
import { storeRoutes } from './stores/store-credentials.ts'
import { systemRoutes } from './system.ts'
import { reconcileRoutes } from './upkeep/reconcile.ts'

/** The routes that admin-api answers. */
export const managingRoutes = {
  ...companyRoutes,
  ...appRoutes,
  ...storeRoutes,
  ...serverKeyRoutes,
  ...linkRoutes,
  ...partnerRoutes,
  ...appCostRoutes,
  ...savedViewRoutes,
  ...dayNoteRoutes,
  ...cvSchemaRoutes,
  ...storedDataRoutes,
  ...reconcileRoutes,
  ...erasureRoutes,
  ...retentionRoutes,
  ...deadLetterRoutes,
  ...systemRoutes,
  ...attentionRoutes,
  ...peopleRoutes,
  ...signInRoutes,
  ...oidcRoutes,
  ...ownAccountRoutes,
  ...auditLogRoutes,
  ...liveRoutes,
  ...followRoutes,
} satisfies Routes

/** The routes of `/admin/api/v1`, in the order of the document. */
export const adminRoutes = { ...managingRoutes, ...rowRoutes } satisfies Routes
