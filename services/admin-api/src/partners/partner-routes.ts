import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { getApp } from '@tributary/admin-http/authorize'
import { type Partner, partnerRoutes, type SetPartner } from '@tributary/contracts/admin/partners'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { openTargets, type Targets, targetFault } from '@tributary/domain/partner/targets'
import { readTemplate } from '@tributary/domain/partner/template'
import { inTransaction } from '@tributary/postgres/transaction'
import { listDeliveries } from '@tributary/tables/partners/deliveries'
import { findDeadKeys, readBacklogs, retryDead } from '@tributary/tables/partners/due-postbacks'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import {
  findPartner,
  listPartners,
  removePartner,
  setPartner,
  unknownPartner,
} from '@tributary/tenancy/companies/partner-settings'
import { type ResolveHost, resolveHosts } from '@tributary/tenancy/resolve-host'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { previewPostback } from './preview.ts'
import { sendTest } from './send-test.ts'

/** How partners are notified: settings, preview, test, log, and dead postbacks again. */
export function addPartnerRoutes(app: FastifyInstance, deps: AdminApiDeps): void {
  const { pool, clickhouse, now, targets = openTargets([]), resolve = resolveHosts() } = deps
  const mustBeGood = mustBeGoodTarget({ targets, resolve })

  addRoute(app, partnerRoutes.setPartner, async ({ body }, request) => {
    await mustBeGood(body)
    await getApp(pool, request)
    // First, since it may fail: a request that fails has set nothing.
    const preview = await previewPostback(deps, body)
    return { ...(await setPartner(deps, body, adminRequest(request, now))), preview }
  })
  addRoute(app, partnerRoutes.previewPartner, async ({ body }, request) => {
    await getApp(pool, request)
    await mustBeGood(body)
    return previewPostback(deps, body)
  })
  addRoute(app, partnerRoutes.listPartners, async ({ query: { app_id } }) => {
    const partners = await listPartners(pool, app_id)
    const backlogs = new Map((await readBacklogs(pool, [app_id])).map((one) => [one.partner, one]))
    return {
      partners: partners.map((one): Partner => {
        const { due = 0, oldest_due_ms = null, dead = 0 } = backlogs.get(one.partner) ?? {}
        return { ...one, due, oldest_due_ms, dead }
      }),
    }
  })
  addRoute(app, partnerRoutes.removePartner, async ({ body }, request) => {
    await removePartner(pool, body, adminRequest(request, now))
    return { ...body, status: 'removed' as const }
  })
  addRoute(app, partnerRoutes.testPartner, async ({ body }, request) => {
    await getApp(pool, request)
    return { delivery: await sendTest(deps, body) }
  })
  addRoute(app, partnerRoutes.listDeliveries, async ({ query: { app_id, partner, dead, limit } }, request) => {
    await getApp(pool, request)
    const keys = dead === '1' ? { keys: await findDeadKeys(pool, { app_id, partner, limit }) } : {}
    return { deliveries: await listDeliveries(clickhouse, { app_id, partner, limit, ...keys }) }
  })
  addRoute(app, partnerRoutes.retryPartner, async ({ body }, request) => {
    await getApp(pool, request)
    const retried = await inTransaction(pool, async (client) => {
      const settings = await findPartner(client, body)
      if (settings === null) throw unknownPartner()
      const count = await retryDead(client, body, settings.settings_id)
      const detail = { partner: body.partner, retried: count }
      const action = { action: 'partner.retry', subject: body.app_id, detail }
      await recordAdminAction(client, adminRequest(request, now), action)
      return count
    })
    return { retried }
  })
}

/** Throws `invalid_field` for a bad template, and for a host that postbacks may not reach. One that does not resolve now is looked at again when it is sent to. */
const mustBeGoodTarget =
  ({ targets, resolve }: { targets: Targets; resolve: ResolveHost }) =>
  async ({ postback_url }: Pick<SetPartner, 'postback_url'>): Promise<void> => {
    const template = readTemplate(postback_url)
    if (typeof template === 'string') throw badUrl(template)
    const addresses = await resolve(template.origin.hostname).catch(() => [])
    const fault = targetFault(targets, template.origin, addresses)
    if (fault !== null) throw badUrl(fault)
  }

const badUrl = (message: string) =>
  new CodedError('invalid_field', { field: 'postback_url', message: message.slice(0, limits.partner_url_chars_max) })
