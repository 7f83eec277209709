import { ChangeApp, CreateApp, RotateSecret } from '@tributary/contracts/admin'
import { CodedError } from '@tributary/contracts/errors'
import { changeApp, listApps, rotateSigningSecret } from '@tributary/tenancy/companies/apps'
import { createApp } from '@tributary/tenancy/companies/tenants'
import type { FastifyInstance } from 'fastify'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'
import { readBody } from '../read-body.ts'

/** Apps: make, list, change, rotate the signing secret. A secret is shown by the answer that makes it, and never again. */
export function appRoutes(app: FastifyInstance, { pool, masterKeys, now }: AdminApiDeps): void {
  app.post('/apps', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    return createApp(pool, masterKeys, readBody(request, CreateApp), adminRequest(request, now))
  })
  app.get<{ Querystring: { company_id?: unknown } }>('/apps', async ({ query: { company_id } }) => {
    if (typeof company_id !== 'string') throw new CodedError('invalid_field', { field: 'company_id' })
    return { apps: await listApps(pool, company_id, now()) }
  })
  app.patch<{ Params: { id: string } }>('/apps/:id', async (request) =>
    changeApp(pool, request.params.id, readBody(request, ChangeApp), adminRequest(request, now)),
  )
  app.post<{ Params: { id: string } }>('/apps/:id/rotate-secret', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const { overlap_hours } = readBody(request, RotateSecret)
    return rotateSigningSecret(pool, masterKeys, request.params.id, overlap_hours, adminRequest(request, now))
  })
}
