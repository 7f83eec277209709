import { ChangeCompany, CreateCompany } from '@tributary/contracts/admin'
import {
  changeCompany,
  createCompany,
  getCompany,
  listCompanies,
  setCompanyStatus,
} from '@tributary/tenancy/companies/tenants'
import type { FastifyInstance } from 'fastify'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'
import { readBody } from '../read-body.ts'

/** Companies: make, list, show, change, suspend, reinstate. The last three may be repeated. */
export function companyRoutes(app: FastifyInstance, { pool, now }: AdminApiDeps): void {
  app.post('/companies', async (request) =>
    createCompany(pool, readBody(request, CreateCompany), adminRequest(request, now)),
  )
  app.get('/companies', async () => ({ companies: await listCompanies(pool) }))
  app.get<{ Params: { id: string } }>('/companies/:id', async (request) => getCompany(pool, request.params.id))
  app.patch<{ Params: { id: string } }>('/companies/:id', async (request) =>
    changeCompany(pool, request.params.id, readBody(request, ChangeCompany), adminRequest(request, now)),
  )
  app.post<{ Params: { id: string } }>('/companies/:id/suspend', async (request) =>
    setCompanyStatus(pool, request.params.id, 'suspended', adminRequest(request, now)),
  )
  app.post<{ Params: { id: string } }>('/companies/:id/reinstate', async (request) =>
    setCompanyStatus(pool, request.params.id, 'active', adminRequest(request, now)),
  )
}
