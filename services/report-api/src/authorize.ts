import { authenticateServerKey, type ServerKeyRule } from '@tributary/gateway/server-key'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { Credentials, ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import type { KeyRate } from '@tributary/tenancy/quota/key-rate'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'

export interface AuthorizeDeps {
  credentials: Pick<Credentials, 'findServerKey'>
  /** Counts the requests of a key; `get` gives the use of a quota. */
  keyValue: Pick<KeyValue, 'hitWindow' | 'addCapped' | 'reconcile' | 'get'>
  now: () => number
  registry: Registry
}

export type Authorize = (request: FastifyRequest, reply: FastifyReply) => Promise<ServerKeyCredential>

const readsReports: ServerKeyRule = {
  scope: 'reports:read',
  unknown: 'invalid_or_revoked_key',
  scope_missing: 'The key may not read reports: it lacks the scope reports:read.',
}

/** The rule of raw data. */
export const readsRaw: ServerKeyRule = {
  ...readsReports,
  scope: 'raw:read',
  scope_missing: 'The key may not read raw data: it lacks the scope raw:read.',
}

/** Returns the server key of a request for reports. A key sees the app that it is bound to, no other. */
export function createAuthorize(
  { credentials }: Pick<AuthorizeDeps, 'credentials'>,
  keyRate: KeyRate,
  rule = readsReports,
): Authorize {
  return (request, reply) => authenticateServerKey({ credentials, keyRate }, rule, request, reply)
}
