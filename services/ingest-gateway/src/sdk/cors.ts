import type { Route, Routes } from '@tributary/contracts/route'
import type { FastifyInstance } from 'fastify'

const anyOrigin = { 'access-control-allow-origin': '*' }

/** The answer to a preflight request. No cookie is used, and every request is signed. */
const preflight = ({ method, headers }: Route) => ({
  ...anyOrigin,
  allow: `${method}, OPTIONS`,
  'access-control-allow-methods': method,
  'access-control-allow-headers': [
    'Content-Type',
    'X-Request-Id',
    'X-Service-App-Key',
    'X-Service-Company-Key',
    'X-Service-Signature',
    ...Object.keys(headers?.shape ?? {}),
  ].join(', '),
  'access-control-max-age': '86400',
})
const exposed = {
  ...anyOrigin,
  'access-control-expose-headers': 'Retry-After, X-Request-Id, X-Service-Quota-Limit, X-Service-Quota-Used',
}

/** CORS of the routes that declare it, errors included. To be added before hooks that may refuse a request. */
export function corsHeaders(app: FastifyInstance, routes: Routes): void {
  const open = Object.values(routes).filter(({ cors }) => cors)
  const paths = new Set<string | undefined>(open.map(({ path }) => path))
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.origin !== undefined && paths.has(request.routeOptions.url)) reply.headers(exposed)
    done()
  })
  for (const route of open) {
    app.options(route.path, async (_request, reply) => reply.status(204).headers(preflight(route)).send())
  }
}
