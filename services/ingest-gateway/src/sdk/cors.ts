import type { FastifyInstance } from 'fastify'

/** What browsers may call from any page: no cookie is used, and every request is signed. */
const paths = ['/event', '/privacy/delete']

const anyOrigin = { 'access-control-allow-origin': '*' }
const preflight = {
  ...anyOrigin,
  allow: 'POST, OPTIONS',
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': [
    'Content-Type',
    'Content-Encoding',
    'X-Request-Id',
    'X-Service-App-Key',
    'X-Service-Company-Key',
    'X-Service-Platform',
    'X-Service-Sdk',
    'X-Service-Signature',
  ].join(', '),
  'access-control-max-age': '86400',
}
const exposed = {
  ...anyOrigin,
  'access-control-expose-headers': 'Retry-After, X-Request-Id, X-Service-Quota-Limit, X-Service-Quota-Used',
}

/** CORS of `/event` and `/privacy/delete`, errors included. To be added before hooks that may refuse a request. */
export function corsHeaders(app: FastifyInstance): void {
  const open = new Set<string | undefined>(paths)
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.origin !== undefined && open.has(request.routeOptions.url)) reply.headers(exposed)
    done()
  })
  for (const path of paths) app.options(path, async (_request, reply) => reply.status(204).headers(preflight).send())
}
