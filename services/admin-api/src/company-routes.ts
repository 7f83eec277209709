import { CreateCompany } from '@tributary/contracts/admin'
import { createCompany, listCompanies, setCompanyStatus } from '@tributary/postgres/tenants'
import type { FastifyInstance } from 'fastify'
import { adminRequest } from './admin-request.ts'
import type { AdminApiDeps } from './app.ts'
import { readBody } from './read-body.ts'

/** Companies: make, list, suspend, reinstate. The last two may be repeated. */
export function companyRoutes(app: FastifyInstance, { pool, now }: AdminApiDeps): void {
  app.post('/companies', async (request) =>
    createCompany(pool, readBody(request, CreateCompany), adminRequest(request, now)),
  )
  app.get('/companies', async () => ({ companies: await listCompanies(pool) }))
  app.post<{ Params: { id: string } }>('/companies/:id/suspend', async (request) =>
    setCompanyStatus(pool, request.params.id, 'suspended', adminRequest(request, now)),
  )
  app.post<{ Params: { id: string } }>('/companies/:id/reinstate', async (request) =>
    setCompanyStatus(pool, request.params.id, 'active', adminRequest(request, now)),
  )
}
