import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { serverKeyRoutes } from '@tributary/contracts/admin/server-keys'
import { createServerKey, listServerKeys, revokeServerKey } from '@tributary/tenancy/companies/tenants'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** Server keys: mint, list, revoke. The answer to minting is the only place a key is ever shown. */
export function addServerKeyRoutes(app: FastifyInstance, { pool, now }: AdminApiDeps): void {
  addRoute(app, serverKeyRoutes.createServerKey, ({ body }, request, reply) => {
    reply.header('cache-control', 'no-store')
    return createServerKey(pool, body, adminRequest(request, now))
  })
  addRoute(app, serverKeyRoutes.listServerKeys, async ({ query }) => ({
    keys: await listServerKeys(pool, query.app_id),
  }))
  addRoute(app, serverKeyRoutes.revokeServerKey, ({ params }, request) =>
    revokeServerKey(pool, params.id, adminRequest(request, now)),
  )
}
