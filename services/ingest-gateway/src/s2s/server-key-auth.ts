import { CodedError } from '@tributary/contracts/errors'
import { bearerToken } from '@tributary/service-kit/http/bearer-token'
import type { Credentials, ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import type { KeyRate } from '@tributary/tenancy/quota/key-rate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { WireBody } from '../judge/read-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on S2S routes before their handler runs. */
    serverKey: ServerKeyCredential | null
  }
}

/**
 * An `onRequest` hook, so that the key is judged before a byte of the body is read: `missing_bearer_token`, then
 * `unknown_or_revoked_key`, `company_suspended`, `scope_missing`, `rate_limited` (docs/adr/0180-scope-before-rate.md).
 */
export function requireServerKey(app: FastifyInstance, credentials: Credentials, keyRate: KeyRate) {
  if (!app.hasRequestDecorator('serverKey')) app.decorateRequest('serverKey', null)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const key = await credentials.findServerKey(bearerToken(request.headers.authorization))
    if (!key) throw new CodedError('unknown_or_revoked_key')
    if (key.company_status === 'suspended') throw new CodedError('company_suspended')
    request.serverKey = key
    request.ingest.company_id = key.company_id
    request.ingest.app_id = key.app_id
    if (!key.scopes.includes('events:write')) {
      throw new CodedError('scope_missing', {
        message: 'The key may not send events: it lacks the scope events:write.',
      })
    }
    reply.headers(await keyRate.spend(key.key_id))
  }
}

/** The body of an S2S request as it came. */
export function serverBody({ body, headers }: FastifyRequest): WireBody {
  return { wire: (body as Buffer | undefined) ?? Buffer.alloc(0), encoding: headers['content-encoding'] }
}
