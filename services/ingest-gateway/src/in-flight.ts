import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/service-kit/address-block'
import { createShares, type Shares } from '@tributary/service-kit/shares'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'
import { createPace } from './pace.ts'
import { createReadWire } from './read-wire.ts'

/** Of the bytes of all bodies: for those whose signature is not checked yet. */
const unsigned_part = 1 / 4

export interface InFlightLimits {
  /** Requests whose body is here and whose answer is not. */
  requests_max: number
  /** Of all bodies in memory, on the wire and inflated. */
  body_bytes_max: number
}

interface Held {
  bytes: number
  shares: Shares
  /** Name of the client's address among holders. */
  address: string
  /** Whose shares it is taken from: the client's address, and the app once it is known. */
  holders: readonly string[]
  handling: boolean
  closed: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    held: Held | null
    /** Set when its body was not taken. */
    refusal: Error | null
    /** Counts bytes that are kept in memory until the request has ended. Throws `unavailable` beyond the sender's share. */
    hold(bytes: number): void
    /** Moves what is held of an SDK body to the share of the app that signed it. Throws as `hold`. */
    holdAsSigned(): void
  }
}

/**
 * Bounds what routes added after it may have in hand, for all together and for each app and client address (`Shares`):
 * beyond, 503 `unavailable` at once, where possible before the body is read. A request counts from the moment its body
 * is here, so that slow bodies can't use the places up; their bytes count as they come, not as they are announced. Held
 * until the handler and the answer have both ended, since a client that hangs up leaves its handler running.
 *
 * Keys of an app are public: until its signature is checked, a body counts for its address alone, and all such bodies have
 * a part of memory of their own. So nobody fills the share of an app without its secret.
 */
export function boundInFlight(
  app: FastifyInstance,
  { requests_max, body_bytes_max }: InFlightLimits,
  registry: Registry,
  now: () => number,
): void {
  const requests = createShares(requests_max)
  const unsigned = createShares(body_bytes_max * unsigned_part)
  const known = createShares(body_bytes_max * (1 - unsigned_part))
  const pace = createPace(now)
  const checking = setInterval(() => pace.check(), limits.slow_body_check_ms).unref()
  app.addHook('onClose', async () => clearInterval(checking))
  const refused = inFlightMetrics(registry, () => ({
    requests: requests.taken(),
    bytes: unsigned.taken() + known.taken(),
  }))
  const refusal = new CodedError('unavailable', {
    message: 'Too many requests at once.',
    headers: { 'retry-after': '1' },
  })
  const refuse = (what: 'requests' | 'bytes') => {
    refused.inc({ what })
    return refusal
  }
  function release(held: Held) {
    if (held.handling || !held.closed) return
    held.shares.give(held.holders, held.bytes)
    held.bytes = 0
  }
  function close({ held }: FastifyRequest) {
    if (held === null) return
    held.closed = true
    release(held)
  }

  app.decorateRequest('held', null)
  app.decorateRequest('refusal', null)
  app.decorateRequest('sender', null)
  app.decorateRequest('hold', function hold(amount) {
    const held = this.held!
    if (held.bytes === 0 && held.shares !== known) {
      const isUnsigned = this.sender !== null
      held.shares = isUnsigned ? unsigned : known
      held.holders = isUnsigned ? [held.address] : holdersOf(held, this)
    }
    if (!held.shares.take(held.holders, amount)) throw refuse('bytes')
    held.bytes += amount
  })
  app.decorateRequest('holdAsSigned', function holdAsSigned() {
    const held = this.held!
    const holders = holdersOf(held, this)
    if (!known.take(holders, held.bytes)) throw refuse('bytes')
    held.shares.give(held.holders, held.bytes)
    held.shares = known
    held.holders = holders
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'OPTIONS') return done()
    const address = `address ${addressBlock(request.client_ip)}`
    const holders = [address]
    const full = !requests.fits(holders, 1) ? 'requests' : !known.fits(holders, 1) ? 'bytes' : null
    if (full !== null) {
      closeIfEndless(request, reply)
      return done(refuse(full))
    }
    request.held = { bytes: 0, shares: unsigned, address, holders, handling: false, closed: false }
    reply.raw.once('close', () => close(request))
    done()
  })
  app.addHook('onResponse', (request, _reply, done) => {
    close(request)
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', createReadWire(pace))
  app.addHook('onRoute', (route) => {
    if (route.method === 'OPTIONS') return
    const { handler } = route
    route.handler = async function bounded(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
      if (request.refusal !== null) {
        closeIfEndless(request, reply)
        throw request.refusal
      }
      const held = request.held!
      const holders = holdersOf(held, request)
      if (!requests.take(holders, 1)) throw refuse('requests')
      held.handling = true
      try {
        return await handler.call(this, request, reply)
      } finally {
        requests.give(holders, 1)
        held.handling = false
        release(held)
      }
    }
  })
}

const holdersOf = ({ address }: Held, { ingest: { app_id } }: FastifyRequest): readonly string[] =>
  app_id === undefined ? [address] : [address, `app ${app_id}`]

/** What still comes of a refused body is read and dropped, so its end must be near. */
export function closeIfEndless({ headers, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const announced = Number(headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : Infinity))
  if (!(announced <= (routeOptions.bodyLimit ?? 0))) reply.header('connection', 'close')
}

function inFlightMetrics(registry: Registry, now: () => { requests: number; bytes: number }) {
  const registers = [registry]
  new Gauge({
    name: 'tributary_ingest_requests_in_flight',
    help: 'Requests whose body is here and whose answer is not.',
    registers,
    collect() {
      this.set(now().requests)
    },
  })
  new Gauge({
    name: 'tributary_ingest_body_bytes_in_flight',
    help: 'Bytes of bodies in memory.',
    registers,
    collect() {
      this.set(now().bytes)
    },
  })
  return new Counter({
    name: 'tributary_ingest_overload_total',
    help: 'Requests refused because too many were in hand.',
    labelNames: ['what'] as const,
    registers,
  })
}
