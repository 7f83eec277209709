import { setTimeout } from 'node:timers/promises'
import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { limits } from '@tributary/contracts/limits'
import { readEcbRates } from '@tributary/domain/money/money-ecb'
import { loadFxRates } from '@tributary/tenancy/fx-rates'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** A timer may be early by this much. */
const clock_error_ms = 10

/**
 * Exchange rates: load a CSV file of the ECB, as it is. May be repeated; a corrected rate replaces the one before. After
 * the answer each report uses them (docs/rules.md#usd).
 */
export function addFxRoutes(app: FastifyInstance, { pool, now }: AdminApiDeps): void {
  addRoute(app, storedDataRoutes.loadFxRates, async ({ body }, request) => {
    const loaded = await loadFxRates(pool, readEcbRates(body), adminRequest(request, now))
    // Other processes use older rates from memory until then, and nobody knows which processes there are.
    await setTimeout(limits.fx_rates_fresh_ms + clock_error_ms)
    return loaded
  })
}
