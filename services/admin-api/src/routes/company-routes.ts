import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { membershipsOf } from '@tributary/admin-http/caller'
import { companyRoutes } from '@tributary/contracts/admin/companies'
import { companiesOf } from '@tributary/domain/people/rights'
import {
  changeCompany,
  createCompany,
  getCompany,
  listCompanies,
  setCompanyStatus,
} from '@tributary/tenancy/companies/tenants'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** Companies: make, list (those of a person), show, change, suspend, reinstate. The last three may be repeated. */
export function addCompanyRoutes(app: FastifyInstance, { pool, now }: AdminApiDeps): void {
  addRoute(app, companyRoutes.createCompany, ({ body }, request) =>
    createCompany(pool, body, adminRequest(request, now)),
  )
  addRoute(app, companyRoutes.listCompanies, async (_input, request) => {
    const memberships = membershipsOf(request)
    const seen = memberships === null ? null : companiesOf(memberships)
    const companies = await listCompanies(pool)
    return { companies: companies.filter(({ company_id }) => seen?.has(company_id) ?? true) }
  })
  addRoute(app, companyRoutes.getCompany, ({ params }) => getCompany(pool, params.id))
  addRoute(app, companyRoutes.changeCompany, ({ params, body }, request) =>
    changeCompany(pool, params.id, body, adminRequest(request, now)),
  )
  addRoute(app, companyRoutes.suspendCompany, ({ params }, request) =>
    setCompanyStatus(pool, params.id, 'suspended', adminRequest(request, now)),
  )
  addRoute(app, companyRoutes.reinstateCompany, ({ params }, request) =>
    setCompanyStatus(pool, params.id, 'active', adminRequest(request, now)),
  )
}
