import { limits } from '@tributary/contracts/limits'
import { boundInFlight, type InFlightLimits } from '@tributary/door/in-flight'
import { observeRequests } from '@tributary/door/observe-requests'
import { countersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { createKeyRate } from '@tributary/tenancy/quota/key-rate'
import { createQuota } from '@tributary/tenancy/quota/quota'
import type { FastifyPluginAsync } from 'fastify'
import type { GatewayDeps } from './deps.ts'
import { createJudgeBodies } from './judge/threads/judge-bodies.ts'
import { privacyRoute } from './privacy/privacy-route.ts'
import { createQueuedErasures } from './privacy/queued-erasures.ts'
import { refuseWhenFull } from './refuse-when-full.ts'
import { s2sBulkRoute } from './s2s/s2s-bulk-route.ts'
import { s2sEventRoute } from './s2s/s2s-event-route.ts'
import { corsHeaders } from './sdk/cors.ts'
import { eventRoute } from './sdk/event-route.ts'

const defaultInFlight: InFlightLimits = {
  requests_max: limits.requests_in_flight_max,
  body_bytes_max: limits.body_bytes_in_flight_max,
}

/** Bindings of `/health` without which every request is refused; keys of tenants are remembered for a while. */
export const ingest_needs = ['object_storage', 'queues'] as const

/** `POST /event`, `/s2s/event`, `/s2s/events/bulk`, `/privacy/delete` (docs/rules.md#endpoints) as a fastify plugin. */
export const ingestGateway =
  (gateway: GatewayDeps): FastifyPluginAsync =>
  async (app) => {
    const counters = { ...gateway, breaker: countersBreaker(gateway.now) }
    const bodies = createJudgeBodies(gateway)
    app.addHook('onClose', () => bodies.close())
    const limited = { quota: createQuota(counters), keyRate: createKeyRate(counters) }
    const deps = { ...gateway, bodies, ...limited, erasures: createQueuedErasures(counters) }
    // `Content-Type` is not checked on ingestion (docs/rules.md#bodies): fastify would refuse a malformed one.
    app.addHook('onRequest', (request, _reply, done) => {
      request.headers['content-type'] = undefined // to delete it would slow down every later look at a header
      done()
    })
    observeRequests(app, deps)
    corsHeaders(app)
    if (gateway.disk) refuseWhenFull(app, gateway.disk)
    boundInFlight(app, gateway.in_flight ?? defaultInFlight, gateway.registry, gateway.now)
    eventRoute(app, deps)
    s2sEventRoute(app, deps)
    s2sBulkRoute(app, deps)
    privacyRoute(app, deps)
  }
