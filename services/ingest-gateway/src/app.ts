import type { Routes } from '@tributary/contracts/route'
import { topics } from '@tributary/contracts/topics'
import { openDoor } from '@tributary/gateway/open-door'
import { countersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { createKeyRate } from '@tributary/tenancy/quota/key-rate'
import { createQuota } from '@tributary/tenancy/quota/quota'
import type { FastifyPluginAsync } from 'fastify'
import { costRoutes, costsRoute } from './costs/costs-route.ts'
import type { GatewayDeps } from './deps.ts'
import { createJudgeBodies } from './judge/threads/judge-bodies.ts'
import { showRequests } from './live/show-requests.ts'
import { createKnownInstalls, type KnownInstalls } from './privacy/known-installs.ts'
import { privacyRoute, privacyRoutes } from './privacy/privacy-route.ts'
import { createQueuedErasures } from './privacy/queued-erasures.ts'
import { s2sBulkRoute, serverBulkRoutes } from './s2s/s2s-bulk-route.ts'
import { s2sEventRoute, serverEventRoutes } from './s2s/s2s-event-route.ts'
import { corsHeaders } from './sdk/cors.ts'
import { batchRoutes, eventRoute } from './sdk/event-route.ts'
import { schemaRoute, schemaRoutes } from './sdk/schema-route.ts'

/** The routes of this service. */
export const declaredRoutes = {
  ...batchRoutes,
  ...serverEventRoutes,
  ...serverBulkRoutes,
  ...privacyRoutes,
  ...costRoutes,
  ...schemaRoutes,
} satisfies Routes

/** `POST /event`, `/s2s/event`, `/s2s/events/bulk`, `/privacy/delete`, `GET /skan/cv-schema`, `PUT /api/v1/costs` (docs/rules.md#endpoints) as a fastify plugin. */
export const ingestGateway =
  (gateway: GatewayDeps): FastifyPluginAsync =>
  async (app) => {
    const counters = { ...gateway, breaker: countersBreaker(gateway.now) }
    const bodies = createJudgeBodies(gateway)
    app.addHook('onClose', () => bodies.close())
    const limited = { quota: createQuota(counters), keyRate: createKeyRate(counters) }
    app.addHook('onClose', () => limited.quota.close())
    const knownInstalls = createKnownInstalls()
    const broker = noting(gateway.broker, knownInstalls)
    const deps = { ...gateway, broker, bodies, ...limited, knownInstalls, erasures: createQueuedErasures(counters) }
    corsHeaders(app, declaredRoutes)
    openDoor(app, gateway)
    showRequests(app, gateway)
    eventRoute(app, deps)
    s2sEventRoute(app, deps)
    s2sBulkRoute(app, deps)
    privacyRoute(app, deps)
    schemaRoute(app, deps)
    costsRoute(app, deps)
  }

/** A broker that notes the installs whose events it has taken. */
const noting = (broker: GatewayDeps['broker'], knownInstalls: KnownInstalls): GatewayDeps['broker'] => ({
  async publish(records) {
    await broker.publish(records)
    for (const { topic, key } of records)
      if (topic === topics.eventsAccepted.name && key !== null) knownInstalls.note(key)
  },
})
