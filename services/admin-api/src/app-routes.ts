import { CreateApp } from '@tributary/contracts/admin'
import { createApp } from '@tributary/postgres/tenants'
import type { FastifyInstance } from 'fastify'
import { adminRequest } from './admin-request.ts'
import type { AdminApiDeps } from './app.ts'
import { readBody } from './read-body.ts'

/** Apps: make one. The answer is the only place its signing secret is ever shown. */
export function appRoutes(app: FastifyInstance, { pool, masterKeys, now }: AdminApiDeps): void {
  app.post('/apps', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    return createApp(pool, masterKeys, readBody(request, CreateApp), adminRequest(request, now))
  })
}
