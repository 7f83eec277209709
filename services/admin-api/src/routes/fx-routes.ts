import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { readEcbRates } from '@tributary/domain/money/money-ecb'
import { loadFxRates } from '@tributary/tenancy/fx-rates'
import type { FastifyInstance } from 'fastify'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'

/** Exchange rates: load a CSV file of the ECB, as it is. May be repeated; a corrected rate replaces the one before. */
export function fxRoutes(app: FastifyInstance, { pool, now }: AdminApiDeps): void {
  app.post('/fx-rates', { bodyLimit: limits.fx_csv_bytes_max }, async (request) => {
    if (!Buffer.isBuffer(request.body)) throw new CodedError('bad_csv', { message: 'The body must be the CSV file.' })
    return loadFxRates(pool, readEcbRates(request.body.toString('utf8')), adminRequest(request, now))
  })
}
