import { CodedError, retrySoon } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import { createShares, type Shares, senderHolders } from '@tributary/service-kit/http/shares'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'
import { type BodyMemory, type BodyShare, createBodyMemory } from './body-memory.ts'
import { createPace } from './pace.ts'
import { createReadWire } from './read-wire.ts'

export interface InFlightLimits {
  /** Requests whose body has arrived and whose answer is not out. */
  requests_max: number
  /** Bytes of all bodies in memory, on the wire and inflated. */
  body_bytes_max: number
}

interface RequestShare extends BodyShare {
  /** Name of the client's address, its first holder. */
  address: string
  handling: boolean
  closed: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    share: RequestShare | null
    /** Why its body was not taken; null for a body that was. */
    refusal: Error | null
    /** Counts bytes that stay in memory until the request has ended. Throws `unavailable` beyond the sender's share. */
    takeShare(bytes: number): void
    /** Its body is on its way. It may be ended by `end` to make room for others, until `endBody`. */
    mayEnd(end: (refusal: Error) => void): void
    /** Its body has arrived whole, or is dropped. */
    endBody(how: 'whole' | 'dropped'): void
    /**
     * Moves the bytes of an SDK body to the shares of the app that signed it and of its company. Throws as `takeShare`.
     */
    takeShareAsSigned(): void
  }
}

/** What all gateways of a process have in flight. */
interface Bounds {
  requests: Shares
  memory: BodyMemory
  metrics: ReturnType<typeof inFlightMetrics>
  /** How many gateways share it. */
  gateways: number
}

/** The key is the registry, since a process has one. */
const boundsOf = new WeakMap<Registry, Bounds>()

/** Gateways of one process share what the first of them opened: a second one must not double the limits. */
function openBounds({ in_flight, registry, elapsed }: BoundOptions): Bounds {
  const { requests_max, body_bytes_max } = in_flight
  const known = boundsOf.get(registry)
  if (known !== undefined) return known
  const metrics = inFlightMetrics(registry)
  const memory = createBodyMemory(body_bytes_max, elapsed, (bytes) => metrics.bytes.inc(bytes))
  const opened = { requests: createShares(requests_max), memory, metrics, gateways: 0 }
  boundsOf.set(registry, opened)
  return opened
}

export interface BoundOptions {
  in_flight: InFlightLimits
  registry: Registry
  elapsed: () => number
  /**
   * Names a gateway that takes requests without credentials. These requests count together: if the process has another
   * gateway, they have at most half of all. Their bodies stay in the part of the memory for unsigned bodies.
   */
  strangers?: string | undefined
}

/**
 * Bounds the requests in flight of the routes that are added after it. The bounds are those of all clients together,
 * and of each company, app and client address (`Shares`); all gateways of a process share them. Further requests are
 * refused with 503 `unavailable` at once, if possible before the body is read. A request counts once its body has
 * arrived, so that slow bodies can't use up the slots. Its bytes count as they arrive, not as they are announced.
 * Request and bytes count until handler and answer have ended, because the handler goes on after its client hangs up.
 */
export function boundInFlight(app: FastifyInstance, options: BoundOptions): void {
  const { elapsed, strangers } = options
  const bounds = openBounds(options)
  const { requests, memory, metrics } = bounds
  bounds.gateways += 1
  const alone: readonly string[] = []
  const shared: readonly string[] = strangers === undefined ? alone : [`gateway ${strangers}`]
  const gatewayShare = () => (bounds.gateways > 1 ? shared : alone)
  const refuse = createRefusal(metrics.refused)
  const release = (share: RequestShare) => {
    if (!share.handling && share.closed) memory.release(share)
  }
  const close = ({ share }: FastifyRequest) => {
    if (share === null) return
    share.closed = true
    release(share)
  }

  decorateRequests(app, memory, refuse, strangers === undefined)
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'OPTIONS') return done()
    const address = `address ${addressBlock(request.client_ip)}`
    const holders = [address, ...gatewayShare()]
    const full = !requests.fits(holders, 1)
      ? 'requests'
      : !memory.hasRoom(holders, strangers === undefined)
        ? 'bytes'
        : null
    if (full !== null) {
      closeIfEndless(request, reply)
      return done(refuse(full))
    }
    const body = { bytes: 0, known: false, holders, app: null, evict: null, cost: 0, counted_at_ms: 0 }
    request.share = { ...body, address, handling: false, closed: false }
    reply.raw.once('close', () => close(request))
    done()
  })
  app.addHook('onResponse', (request, _reply, done) => {
    close(request)
    done()
  })
  readBodies(app, elapsed)
  app.addHook('onRoute', (route) => {
    if (route.method === 'OPTIONS') return
    boundHandler(route, async (request, handle) => {
      const share = request.share!
      const holders = [...holdersOf(share, request), ...gatewayShare()]
      if (!requests.take(holders, 1)) throw refuse('requests')
      metrics.requests.inc()
      share.handling = true
      try {
        return await handle()
      } finally {
        requests.give(holders, 1)
        metrics.requests.dec()
        share.handling = false
        release(share)
      }
    })
  })
}

type Refuse = (what: 'requests' | 'bytes') => CodedError

/** Makes the function that counts a refusal and returns its error. The error is always the same: its stack costs time. */
function createRefusal(refused: Counter<'what'>): Refuse {
  const refusal = new CodedError('unavailable', { message: 'Too many requests at once.', headers: retrySoon })
  return (what) => {
    refused.inc({ what })
    return refusal
  }
}

function decorateRequests(app: FastifyInstance, memory: BodyMemory, refuse: Refuse, credentials: boolean): void {
  app.decorateRequest('share', null)
  app.decorateRequest('refusal', null)
  app.decorateRequest('sender', null)
  app.decorateRequest('serverKey', null)
  app.decorateRequest('takeShareAsSigned', function takeShareAsSigned() {
    const share = this.share!
    if (!memory.moveToKnown(share, holdersOf(share, this))) throw refuse('bytes')
  })
  app.decorateRequest('mayEnd', function mayEnd(end) {
    const { share, ingest } = this
    if (share === null) return
    share.app = ingest.app_id ?? null
    share.evict = () => end(refuse('bytes'))
  })
  app.decorateRequest('endBody', function endBody(how) {
    if (this.share === null) return
    if (how === 'dropped') memory.release(this.share)
    memory.pin(this.share)
  })
  app.decorateRequest('takeShare', function takeShare(amount) {
    const share = this.share!
    // Only on SDK routes the signature of the sender is still unchecked.
    if (credentials && !share.known && this.sender === null) this.takeShareAsSigned()
    if (!memory.take(share, amount)) throw refuse('bytes')
  })
}

/** Bodies arrive as Buffers, counted while they come, and none too slowly. */
function readBodies(app: FastifyInstance, elapsed: () => number): void {
  const pace = createPace(elapsed)
  const checking = setInterval(() => pace.check(), limits.slow_body_check_ms).unref()
  app.addHook('onClose', async () => clearInterval(checking))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', createReadWire(pace))
}

/** Puts `bound` around the handler of a route. A request whose body was refused does not reach either. */
function boundHandler(
  route: RouteOptions,
  bound: (request: FastifyRequest, handle: () => unknown) => Promise<unknown>,
): void {
  const { handler } = route
  route.handler = async function bounded(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
    if (request.refusal !== null) {
      closeIfEndless(request, reply)
      throw request.refusal
    }
    return bound(request, () => handler.call(this, request, reply))
  }
}

/** The client's address, and the company and app once they are known. */
const holdersOf = ({ address }: RequestShare, { ingest }: FastifyRequest): readonly string[] => [
  address,
  ...senderHolders(ingest),
]

/**
 * Closes the connection of a refused request unless its body is short. The rest of a body is read and dropped, and that
 * must end soon.
 */
export function closeIfEndless({ headers, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const announced = Number(headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : Infinity))
  if (!(announced <= (routeOptions.bodyLimit ?? 0))) reply.header('connection', 'close')
}

/** Gateways of one process count together. */
const inFlightMetrics = (registry: Registry) => ({
  requests: sharedMetric(registry, Gauge, {
    name: 'tributary_ingest_requests_in_flight',
    help: 'Requests whose body is here and whose answer is not.',
  }),
  bytes: sharedMetric(registry, Gauge, {
    name: 'tributary_ingest_body_bytes_in_flight',
    help: 'Bytes of bodies in memory.',
  }),
  refused: sharedMetric(registry, Counter, {
    name: 'tributary_ingest_overload_total',
    help: 'Requests refused because too many were in hand.',
    labelNames: ['what'] as const,
  }),
})
