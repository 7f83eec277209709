import { storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { readEcbRates } from '@tributary/domain/money/money-ecb'
import { loadFxRates } from '@tributary/tenancy/fx-rates'
import type { FastifyInstance } from 'fastify'
import { addRoute } from '../add-route.ts'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'

/** Exchange rates: load a CSV file of the ECB, as it is. May be repeated; a corrected rate replaces the one before. */
export function addFxRoutes(app: FastifyInstance, { pool, now }: AdminApiDeps): void {
  addRoute(app, storedDataRoutes.loadFxRates, ({ body }, request) =>
    loadFxRates(pool, readEcbRates(body), adminRequest(request, now)),
  )
}
