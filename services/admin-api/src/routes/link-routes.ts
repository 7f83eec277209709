import { linkRoutes } from '@tributary/contracts/admin/links'
import { createLink, listLinks, setLinkStatus } from '@tributary/tenancy/companies/links'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addRoute } from '../add-route.ts'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'

/** Tracking links: make, list, enable, disable. The last two may be repeated. */
export function addLinkRoutes(app: FastifyInstance, { pool, now, link_url }: AdminApiDeps): void {
  const urlOf = (link_id: string, { protocol, host }: FastifyRequest) =>
    `${(link_url ?? `${protocol}://${host}`).replace(/\/+$/, '')}/l/${link_id}`

  addRoute(app, linkRoutes.createLink, async ({ body }, request) => {
    const link_id = await createLink(pool, body, adminRequest(request, now))
    return { link_id, url: urlOf(link_id, request) }
  })
  addRoute(app, linkRoutes.listLinks, async ({ query }, request) => {
    const links = await listLinks(pool, query.app_id)
    return { links: links.map((link) => ({ ...link, url: urlOf(link.link_id, request) })) }
  })
  addRoute(app, linkRoutes.enableLink, ({ params }, request) =>
    setLinkStatus(pool, params.id, 'enabled', adminRequest(request, now)),
  )
  addRoute(app, linkRoutes.disableLink, ({ params }, request) =>
    setLinkStatus(pool, params.id, 'disabled', adminRequest(request, now)),
  )
}
