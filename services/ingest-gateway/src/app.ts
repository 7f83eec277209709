import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { GroupCommit } from '@tributary/audit-store/group-commit'
import type { Broker } from '@tributary/broker/broker'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { Credentials } from '@tributary/postgres/credentials'
import { countersBreaker } from '@tributary/service-kit/counters-breaker'
import type { Gate } from '@tributary/service-kit/disk-watch'
import { createKeyRate, type KeyRate } from '@tributary/service-kit/key-rate'
import { createQuota, type Quota } from '@tributary/service-kit/quota'
import type { FastifyPluginAsync } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { corsHeaders } from './cors.ts'
import { eventRoute } from './event-route.ts'
import { boundInFlight, type InFlightLimits } from './in-flight.ts'
import { createJudgeBodies, type JudgeBodies } from './judge/judge-bodies.ts'
import { observeRequests } from './observe-requests.ts'
import { privacyRoute } from './privacy-route.ts'
import { createQueuedErasures, type QueuedErasures } from './queued-erasures.ts'
import { refuseWhenFull } from './refuse-when-full.ts'
import { s2sBulkRoute } from './s2s-bulk-route.ts'
import { s2sEventRoute } from './s2s-event-route.ts'

export interface GatewayDeps {
  credentials: Credentials
  /** Holds the objects of backend requests; those of SDK requests go through `groupCommit`. */
  audit: Pick<AuditStore, 'putOnce' | 'get'>
  groupCommit: Pick<GroupCommit, 'append'>
  broker: Pick<Broker, 'publish' | 'packs'>
  /** Counts requests of a key and events of a company, and knows which installs are queued for erasure. */
  keyValue: Pick<KeyValue, 'addCapped' | 'get' | 'hitWindow'>
  /** Partition count of `events.accepted.v1` and `erasures.requested.v1`. */
  partitions: number
  now: () => number
  registry: Registry
  logger: Logger
  gateway_id: string
  /** `limits` when absent. */
  in_flight?: InFlightLimits
  /** Closed while the disk is full; open when absent. */
  disk?: Pick<Gate, 'open'>
}

/** What routes work with: the dependencies, and the limits over them. */
export interface RouteDeps extends GatewayDeps {
  quota: Quota
  bodies: JudgeBodies
  keyRate: KeyRate
  erasures: QueuedErasures
}

const defaultInFlight: InFlightLimits = {
  requests_max: limits.requests_in_flight_max,
  body_bytes_max: limits.body_bytes_in_flight_max,
}

/** Bindings of `/health` without which every request is refused; keys of tenants are remembered for a while. */
export const ingest_needs = ['object_storage', 'queues'] as const

/** `POST /event`, `/s2s/event`, `/s2s/events/bulk`, `/privacy/delete` (interface.md "Endpoints") as a fastify plugin. */
export const ingestGateway =
  (gateway: GatewayDeps): FastifyPluginAsync =>
  async (app) => {
    const counters = { ...gateway, steady: countersBreaker(gateway.now) }
    const bodies = createJudgeBodies(gateway)
    app.addHook('onClose', () => bodies.close())
    const limited = { quota: createQuota(counters), keyRate: createKeyRate(counters) }
    const deps = { ...gateway, bodies, ...limited, erasures: createQueuedErasures(counters) }
    // `Content-Type` is not checked on ingestion (decisions.md "Bodies"): fastify would refuse a malformed one.
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
