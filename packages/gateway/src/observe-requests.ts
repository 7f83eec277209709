import type { RejectReason } from '@tributary/contracts/errors'
import { CodedError } from '@tributary/contracts/errors'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Counter, Histogram, type Registry } from 'prom-client'

/** What a route learns about its request, for its log line and the metrics. */
interface IngestFacts {
  company_id?: string
  /** A signature or a server key proves who sent it. */
  proven: boolean
  app_id?: string
  /** Bytes on the wire. */
  bytes: number
  accepted: number
  rejected: ReadonlyMap<RejectReason, number>
  audit_key?: string
  /** The error code answered, `ok` without one. */
  code: string
}

declare module 'fastify' {
  interface FastifyRequest {
    ingest: IngestFacts
  }
}

export interface Observers {
  registry: Registry
  logger: Logger
  /** Names the process in log lines. */
  gateway_id: string
}

/** Notes the sender, for the log line of a request and for its share. Requests that no door observes need no note. */
export function noteSender(
  request: FastifyRequest,
  { app_id, company_id }: { app_id: string; company_id: string },
  { proven = false } = {},
): void {
  if (request.ingest) Object.assign(request.ingest, { app_id, company_id, proven })
}

/** Counts and logs every request of the gateway once, when its answer is out. */
export function observeRequests(app: FastifyInstance, { registry, logger, gateway_id }: Observers): void {
  const count = requestMetrics(registry)
  const lines = logger.child({ gateway_id })

  app.decorateRequest('ingest', null as unknown as IngestFacts)
  app.addHook('onRequest', (request, _reply, done) => {
    request.ingest = { bytes: 0, proven: false, accepted: 0, rejected: new Map(), code: 'ok' }
    done()
  })
  app.addHook('onError', (request, _reply, error, done) => {
    if (request.ingest) request.ingest.code = answeredCode(error)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    // null when the app refused the request before the first hook, as it does while it stops
    if (!request.ingest || request.method === 'OPTIONS') return done()
    const route = request.routeOptions.url ?? ''
    count(route, request.ingest, reply.elapsedTime / 1000)
    if (lines.isLevelEnabled('debug')) {
      const { code, accepted, rejected, ...facts } = request.ingest
      const reasons = Object.fromEntries(rejected)
      const { id: request_id } = request
      const ms = Math.round(reply.elapsedTime)
      lines.debug({ route, code, request_id, ...facts, accepted, rejected: reasons, ms }, 'ingest request')
    }
    done()
  })
}

/** The code that the error handler of service-kit answers. */
function answeredCode(error: FastifyError): string {
  if (error instanceof CodedError) return error.code
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return 'body_too_large'
  return error.statusCode !== undefined && error.statusCode < 500 ? 'bad_json' : 'internal_error'
}

/** Makes the function that counts a request. Gateways of one process count together. */
function requestMetrics(registry: Registry) {
  const requests = sharedMetric(registry, Counter, {
    name: 'tributary_ingest_requests_total',
    help: 'Ingest requests by answered error code.',
    labelNames: ['route', 'code'],
  })
  const events = sharedMetric(registry, Counter, {
    name: 'tributary_ingest_events_total',
    help: 'Events by verdict; reason is empty for accepted ones.',
    labelNames: ['route', 'status', 'reason'],
  })
  const bytes = sharedMetric(registry, Counter, {
    name: 'tributary_ingest_body_bytes_total',
    help: 'Body bytes as they came over the wire.',
    labelNames: ['route'],
  })
  const seconds = sharedMetric(registry, Histogram, {
    name: 'tributary_ingest_request_seconds',
    help: 'Seconds from the first byte of a request to its answer.',
    labelNames: ['route'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  })
  return (route: string, facts: IngestFacts, elapsed_s: number) => {
    const { code, accepted, rejected } = facts
    requests.inc({ route, code })
    bytes.inc({ route }, facts.bytes)
    seconds.observe({ route }, elapsed_s)
    if (code !== 'ok') return
    if (accepted > 0) events.inc({ route, status: 'accepted', reason: '' }, accepted)
    for (const [reason, n] of rejected) events.inc({ route, status: 'rejected', reason }, n)
  }
}
