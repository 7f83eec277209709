import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { membershipsOf } from '@tributary/admin-http/caller'
import { appRoutes } from '@tributary/contracts/admin/apps'
import { appsOf } from '@tributary/domain/people/rights'
import { changeApp, getApp, listApps, moveStoreId, rotateSigningSecret } from '@tributary/tenancy/companies/apps'
import { createApp } from '@tributary/tenancy/companies/tenants'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** Apps: make, list, change, rotate the signing secret. A secret is shown by the answer that makes it, and never again. */
export function addAppRoutes(app: FastifyInstance, { pool, masterKeys, now }: AdminApiDeps): void {
  addRoute(app, appRoutes.createApp, ({ body }, request, reply) => {
    reply.header('cache-control', 'no-store')
    return createApp(pool, masterKeys, body, adminRequest(request, now))
  })
  addRoute(app, appRoutes.listApps, async ({ query: { company_id } }, request) => {
    const seen = appsOf(membershipsOf(request) ?? [], company_id)
    const apps = await listApps(pool, company_id, now())
    return { apps: apps.filter(({ app_id }) => seen?.has(app_id) ?? true) }
  })
  addRoute(app, appRoutes.getApp, ({ params }) => getApp(pool, params.id, now()))
  addRoute(app, appRoutes.changeApp, ({ params, body }, request) =>
    changeApp(pool, params.id, body, adminRequest(request, now)),
  )
  addRoute(app, appRoutes.moveStoreId, ({ params, body }, request) =>
    moveStoreId(pool, params.id, body.store_id, adminRequest(request, now)),
  )
  addRoute(app, appRoutes.rotateSigningSecret, ({ params, body }, request, reply) => {
    reply.header('cache-control', 'no-store')
    return rotateSigningSecret(pool, masterKeys, params.id, body.overlap_hours, adminRequest(request, now))
  })
}
