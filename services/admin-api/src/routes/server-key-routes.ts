import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { serverKeyRoutes } from '@tributary/contracts/admin/server-keys'
import { createServerKey, listServerKeys, revokeServerKey } from '@tributary/tenancy/companies/tenants'
import { findKeyUse } from '@tributary/tenancy/quota/key-use'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** Server keys: mint, list, revoke. The answer to minting is the only place a key is ever shown. */
export function addServerKeyRoutes(app: FastifyInstance, { pool, keyValue, now }: AdminApiDeps): void {
  addRoute(app, serverKeyRoutes.createServerKey, ({ body }, request, reply) => {
    reply.header('cache-control', 'no-store')
    return createServerKey(pool, body, adminRequest(request, now))
  })
  addRoute(app, serverKeyRoutes.listServerKeys, async ({ query }) => {
    const keys = await listServerKeys(pool, query.app_id)
    const uses = await findKeyUse(
      keyValue,
      keys.map(({ key_id }) => key_id),
      now(),
    )
    return { keys: keys.map((key) => ({ ...key, ...uses.get(key.key_id)! })) }
  })
  addRoute(app, serverKeyRoutes.revokeServerKey, ({ params }, request) =>
    revokeServerKey(pool, params.id, adminRequest(request, now)),
  )
}
