import { CodedError } from '@tributary/contracts/errors'
import type { KeyValue } from '@tributary/key-value/key-value'
import { bearerToken } from '@tributary/service-kit/http/http-app'
import type { Credentials, ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import { countersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { createKeyRate } from '@tributary/tenancy/quota/key-rate'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'

export interface AuthorizeDeps {
  credentials: Pick<Credentials, 'findServerKey'>
  /** Counts the requests of a key. */
  keyValue: Pick<KeyValue, 'hitWindow'>
  now: () => number
  registry: Registry
}

export type Authorize = (request: FastifyRequest, reply: FastifyReply) => Promise<ServerKeyCredential>

/** Checks key, scope, then rate (docs/adr/0180-scope-before-rate.md). A key sees only the app that it is bound to. */
export function createAuthorize({ credentials, keyValue, now, registry }: AuthorizeDeps): Authorize {
  const keyRate = createKeyRate({ keyValue, breaker: countersBreaker(now), registry })
  return async (request, reply) => {
    const key = await credentials.findServerKey(bearerToken(request.headers.authorization))
    if (key === null) throw new CodedError('invalid_or_revoked_key')
    if (key.company_status === 'suspended') throw new CodedError('company_suspended')
    if (!key.scopes.includes('reports:read')) {
      throw new CodedError('scope_missing', {
        message: 'The key may not read reports: it lacks the scope reports:read.',
      })
    }
    reply.headers(await keyRate.spend(key.key_id))
    return key
  }
}
