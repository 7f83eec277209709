import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { getApp } from '@tributary/admin-http/authorize'
import { storeRoutes } from '@tributary/contracts/admin/stores'
import { CodedError, rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { readStoreCredentials, setStoreCredentials } from '@tributary/tenancy/companies/store-credentials'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { checkStores } from './check-stores.ts'

/** The credentials of apps at the stores: set, and check. No answer holds one. */
export function addStoreRoutes(app: FastifyInstance, deps: AdminApiDeps): void {
  const { pool, keyValue, now, store_urls = {} } = deps
  addRoute(app, storeRoutes.setStoreCredentials, ({ params, body }, request) =>
    setStoreCredentials(deps, params.id, body, adminRequest(request, now)),
  )
  addRoute(app, storeRoutes.checkStore, async (_input, request) => {
    const { app_id } = await getApp(pool, request)
    const { store_checks_max, store_checks_window_ms } = limits
    const hit = await keyValue
      .hitWindow(`store_checks:${app_id}`, store_checks_max, store_checks_window_ms)
      .catch((cause: unknown) => {
        throw new CodedError('unavailable', { message: 'The counters are away: no store is asked.', cause })
      })
    if (!hit.allowed) throw rateLimited(hit.retry_after_ms)
    return checkStores(await readStoreCredentials(deps, app_id), store_urls)
  })
}
