import type { KeyScope } from '@tributary/contracts/admin/server-keys'
import { CodedError, type ErrorCode } from '@tributary/contracts/errors'
import { bearerToken } from '@tributary/service-kit/http/bearer-token'
import type { Credentials, ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import type { KeyRate } from '@tributary/tenancy/quota/key-rate'
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { noteSender } from './observe-requests.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `requireServerKey` before the handler runs. */
    serverKey: ServerKeyCredential | null
  }
}

export interface ServerKeyDeps {
  credentials: Pick<Credentials, 'findServerKey'>
  keyRate: KeyRate
}

/** The demands of a surface on a server key, and its refusals. */
export interface ServerKeyRule {
  scope: KeyScope
  /** The answer to a key that is unknown or revoked. */
  unknown: ErrorCode
  /** The message for a key that lacks the scope. */
  scope_missing: string
}

/**
 * The server key of a request. Each check has its place, and the first that fails is answered: bearer token, key,
 * suspended company, rate, scope. Every request of a known key counts, and its answer has the headers of its rate
 * (docs/decisions/door.md#every-request-of-a-known-key-counts).
 */
export async function authenticateServerKey(
  { credentials, keyRate }: ServerKeyDeps,
  rule: ServerKeyRule,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ServerKeyCredential> {
  const key = await credentials.findServerKey(bearerToken(request.headers.authorization))
  if (key === null) throw new CodedError(rule.unknown)
  const { headers, refusal } = await keyRate.spend(key.key_id)
  reply.headers(headers)
  if (key.company_status === 'suspended') throw new CodedError('company_suspended')
  noteSender(request, key, { proven: true })
  if (refusal !== null) throw refusal
  if (!key.scopes.includes(rule.scope)) throw new CodedError('scope_missing', { message: rule.scope_missing })
  return key
}

/** The rule of the S2S surface. */
const sendsEvents: ServerKeyRule = {
  scope: 'events:write',
  unknown: 'unknown_or_revoked_key',
  scope_missing: 'The key may not send events: it lacks the scope events:write.',
}

/** The rule of the upload of costs. */
export const uploadsCosts: ServerKeyRule = {
  ...sendsEvents,
  scope: 'costs:write',
  scope_missing: 'The key may not upload costs: it lacks the scope costs:write.',
}

/** An `onRequest` hook of S2S routes: it checks the key before a byte of the body is read, and sets `request.serverKey`. */
export const requireServerKey =
  (deps: ServerKeyDeps, rule = sendsEvents): onRequestAsyncHookHandler =>
  async (request, reply) => {
    request.serverKey = await authenticateServerKey(deps, rule, request, reply)
  }
