import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OpenSpan, Traces } from './traces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span: OpenSpan | null
  }
}

/** Probes and scrapes ask for these every few seconds, and nobody looks for their time. */
const untraced: readonly string[] = ['/health', '/ready', '/metrics']

/**
 * Records a span for a sample of the requests. Each request begins a trace of its own, and links the one that its client names:
 * nobody outside decides what is recorded (docs/operations.md#a-request-begins-its-own-trace). A span has the pattern of
 * its route, and not the path: that may hold an install.
 */
export function traceRequests(app: FastifyInstance, traces: Traces): void {
  app.decorateRequest('span', null)
  app.addHook('onRequest', (request, reply, done) => {
    const { url: route } = request.routeOptions
    if (route === undefined || untraced.includes(route)) return done()
    const { traceparent } = request.headers
    const links = typeof traceparent === 'string' ? [traceparent] : []
    request.span = traces.begin({ name: `${request.method} ${route}`, kind: 'server', links })
    if (request.span === null) return done()
    // Nothing calls `onResponse` for a client that leaves.
    reply.raw.once('close', () => endSpan(request, reply, 'client_closed'))
    traces.within(request.span, done)
  })
  // The reader of the body calls back outside of the span.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.span === null) done()
    else traces.within(request.span, done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    endSpan(request, reply, reply.statusCode >= 500 ? String(reply.statusCode) : undefined)
    done()
  })
}

/** Ends the span of a request, once. */
function endSpan(request: FastifyRequest, { statusCode }: FastifyReply, error: string | undefined): void {
  const { method, routeOptions, span } = request
  request.span = null
  span?.end({
    attributes: {
      'http.request.method': method,
      'http.route': routeOptions.url ?? '',
      'http.response.status_code': statusCode,
    },
    ...(error !== undefined && { error }),
  })
}
