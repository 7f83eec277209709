import { getApp } from '@tributary/admin-http/authorize'
import { countersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { createKeyRate } from '@tributary/tenancy/quota/key-rate'
import type { FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import type { AppReader } from '../answers/answer-report.ts'
import type { AuthorizeDeps } from '../authorize.ts'

export type GetReader = (request: FastifyRequest) => Promise<AppReader>

/**
 * The app in the path and who reads it. A person counts as a key: the rate and the turns of reports are those of a key of the
 * company. Throws `unknown_app`, `rate_limited`.
 */
export function createGetReader({
  pool,
  keyValue,
  now,
  registry,
}: Omit<AuthorizeDeps, 'credentials'> & { pool: Pool }): GetReader {
  const keyRate = createKeyRate({ keyValue, breaker: countersBreaker(now), registry })
  return async (request) => {
    const app = await getApp(pool, request)
    const { caller } = request
    const key_id = caller?.kind === 'person' ? caller.session.person_id : 'admin-token'
    const { refusal } = await keyRate.spend(key_id)
    if (refusal !== null) throw refusal
    return { ...app, key_id }
  }
}
