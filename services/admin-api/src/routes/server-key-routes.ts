import { CreateServerKey } from '@tributary/contracts/admin'
import { CodedError } from '@tributary/contracts/errors'
import { createServerKey, listServerKeys, revokeServerKey } from '@tributary/tenancy/companies/tenants'
import type { FastifyInstance } from 'fastify'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'
import { readBody } from '../read-body.ts'

/** Server keys: mint, list, revoke. The answer to minting is the only place a key is ever shown. */
export function serverKeyRoutes(app: FastifyInstance, { pool, now }: AdminApiDeps): void {
  app.post('/keys', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    return createServerKey(pool, readBody(request, CreateServerKey), adminRequest(request, now))
  })
  app.get<{ Querystring: { app_id?: unknown } }>('/keys', async ({ query: { app_id } }) => {
    if (typeof app_id !== 'string') throw new CodedError('invalid_field', { field: 'app_id' })
    return { keys: await listServerKeys(pool, app_id) }
  })
  app.post<{ Params: { id: string } }>('/keys/:id/revoke', async (request) =>
    revokeServerKey(pool, request.params.id, adminRequest(request, now)),
  )
}
