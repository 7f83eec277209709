import { CodedError } from '@tributary/contracts/errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'
import { readWire } from './read-wire.ts'

export interface InFlightLimits {
  /** Requests whose body is here and whose answer is not. */
  requests_max: number
  /** Of all bodies in memory, on the wire and inflated. */
  body_bytes_max: number
}

interface Held {
  bytes: number
  handling: boolean
  closed: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    held: Held | null
    /** Set when its body was not taken. */
    refusal: Error | null
    /** Counts bytes that are kept in memory until the request has ended. Throws `unavailable` where there are too many. */
    hold(bytes: number): void
  }
}

/**
 * Bounds what routes added after it may have in hand: beyond, 503 `unavailable` at once, where possible before the body
 * is read. A request counts from the moment its body is here, so that slow bodies can't use the places up; their bytes
 * count as they come, not as they are announced. Held until the handler and the answer have both ended, since
 * a client that hangs up leaves its handler running.
 */
export function boundInFlight(
  app: FastifyInstance,
  { requests_max, body_bytes_max }: InFlightLimits,
  registry: Registry,
): void {
  const now = { requests: 0, bytes: 0 }
  const refused = inFlightMetrics(registry, now)
  const refusal = new CodedError('unavailable', {
    message: 'Too many requests at once.',
    headers: { 'retry-after': '1' },
  })
  const refuse = (what: 'requests' | 'bytes') => {
    refused.inc({ what })
    return refusal
  }

  function whyFull() {
    if (now.requests >= requests_max) return 'requests'
    if (now.bytes >= body_bytes_max) return 'bytes'
    return null
  }
  function release(held: Held) {
    if (held.handling || !held.closed) return
    now.bytes -= held.bytes
    held.bytes = 0
  }
  function close({ held }: FastifyRequest) {
    if (held === null) return
    held.closed = true
    release(held)
  }

  app.decorateRequest('held', null)
  app.decorateRequest('refusal', null)
  app.decorateRequest('hold', function hold(bytes) {
    if (now.bytes + bytes > body_bytes_max) throw refuse('bytes')
    now.bytes += bytes
    if (this.held) this.held.bytes += bytes
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'OPTIONS') return done()
    const why = whyFull()
    if (why !== null) {
      closeIfEndless(request, reply)
      return done(refuse(why))
    }
    request.held = { bytes: 0, handling: false, closed: false }
    reply.raw.once('close', () => close(request))
    done()
  })
  app.addHook('onResponse', (request, _reply, done) => {
    close(request)
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', readWire)
  app.addHook('onRoute', (route) => {
    if (route.method === 'OPTIONS') return
    const { handler } = route
    route.handler = async function bounded(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
      if (request.refusal !== null) {
        closeIfEndless(request, reply)
        throw request.refusal
      }
      if (now.requests >= requests_max) throw refuse('requests')
      const held = request.held!
      now.requests += 1
      held.handling = true
      try {
        return await handler.call(this, request, reply)
      } finally {
        now.requests -= 1
        held.handling = false
        release(held)
      }
    }
  })
}

/** What still comes of a refused body is read and dropped, so its end must be near. */
export function closeIfEndless({ headers, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const announced = Number(headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : Infinity))
  if (!(announced <= (routeOptions.bodyLimit ?? 0))) reply.header('connection', 'close')
}

function inFlightMetrics(registry: Registry, now: { requests: number; bytes: number }) {
  const registers = [registry]
  new Gauge({
    name: 'tributary_ingest_requests_in_flight',
    help: 'Requests whose body is here and whose answer is not.',
    registers,
    collect() {
      this.set(now.requests)
    },
  })
  new Gauge({
    name: 'tributary_ingest_body_bytes_in_flight',
    help: 'Bytes of bodies in memory.',
    registers,
    collect() {
      this.set(now.bytes)
    },
  })
  return new Counter({
    name: 'tributary_ingest_overload_total',
    help: 'Requests refused because too many were in hand.',
    labelNames: ['what'] as const,
    registers,
  })
}
