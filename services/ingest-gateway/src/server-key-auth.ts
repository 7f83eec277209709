import { CodedError } from '@tributary/contracts/errors'
import type { Credentials, ServerKeyCredential } from '@tributary/postgres/credentials'
import { bearerToken } from '@tributary/service-kit/http'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on S2S routes before their handler runs. */
    serverKey: ServerKeyCredential | null
  }
}

/**
 * An `onRequest` hook, so that the key is judged before a byte of the body is read: `missing_bearer_token`, then
 * `unknown_or_revoked_key`, then `company_suspended`. The per-key rate limit belongs right after (decisions.md).
 */
export function requireServerKey(app: FastifyInstance, credentials: Credentials) {
  if (!app.hasRequestDecorator('serverKey')) app.decorateRequest('serverKey', null)
  return async (request: FastifyRequest): Promise<void> => {
    const key = await credentials.findServerKey(bearerToken(request.headers.authorization))
    if (!key) throw new CodedError('unknown_or_revoked_key')
    if (key.company_status === 'suspended') throw new CodedError('company_suspended')
    request.serverKey = key
    request.ingest.company_id = key.company_id
    request.ingest.app_id = key.app_id
  }
}
