import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { linkRoutes } from '@tributary/contracts/admin/links'
import { CodedError } from '@tributary/contracts/errors'
import { createLink, listLinks, setLinkStatus } from '@tributary/tenancy/companies/links'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** Tracking links: make, list, enable, disable. The last two may be repeated. */
export function addLinkRoutes(app: FastifyInstance, { pool, now, link_url, serves_links }: AdminApiDeps): void {
  /** Null if nobody said where the fleet answers links: the address of its operators is no address for people. */
  const baseOf = ({ protocol, host }: FastifyRequest) =>
    (link_url ?? (serves_links ? `${protocol}://${host}` : null))?.replace(/\/+$/, '') ?? null
  const urlOf = (link_id: string, base: string) => `${base}/l/${link_id}`

  addRoute(app, linkRoutes.createLink, async ({ body }, request) => {
    const base = baseOf(request)
    if (base === null) throw addressUnknown()
    const link_id = await createLink(pool, body, adminRequest(request, now))
    return { link_id, url: urlOf(link_id, base) }
  })
  addRoute(app, linkRoutes.listLinks, async ({ query }, request) => {
    const links = await listLinks(pool, query.app_id)
    const base = baseOf(request)
    return { links: links.map((link) => ({ ...link, url: base === null ? null : urlOf(link.link_id, base) })) }
  })
  addRoute(app, linkRoutes.enableLink, ({ params }, request) =>
    setLinkStatus(pool, params.id, 'enabled', adminRequest(request, now)),
  )
  addRoute(app, linkRoutes.disableLink, ({ params }, request) =>
    setLinkStatus(pool, params.id, 'disabled', adminRequest(request, now)),
  )
}

const addressUnknown = () =>
  new CodedError('invalid_field', {
    field: 'TRIBUTARY_LINK_URL',
    message:
      'The address of tracking links is unknown: set TRIBUTARY_LINK_URL of admin-api, such as https://go.example.com.',
  })
