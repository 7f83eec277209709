import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { CodedError } from '@tributary/contracts/errors'
import type { AppCredential, CompanyCredential, Credentials } from '@tributary/tenancy/credentials/credentials'
import type { FastifyRequest, onRequestAsyncHookHandler, onRequestHookHandler } from 'fastify'
import { noteSender } from './observe-requests.ts'

const key_headers = ['X-Service-Company-Key', 'X-Service-App-Key']

/** An `onRequest` hook: 400 `missing_auth_headers`, which names them, unless these headers are there and not empty. */
function requireHeaders(names: readonly string[]): onRequestHookHandler {
  const keys = names.map((name) => name.toLowerCase())
  return ({ headers }, _reply, done) => {
    if (keys.every((key) => headers[key])) return done()
    const missing = names.filter((_name, index) => !headers[keys[index]!])
    done(new CodedError('missing_auth_headers', { message: `Missing or empty: ${missing.join(', ')}.` }))
  }
}

/** The hook of a route that takes a signature. */
export const requireAuthHeaders = requireHeaders([...key_headers, 'X-Service-Signature'])

/** The hook of a route that takes none. */
export const requireKeyHeaders = requireHeaders(key_headers)

type SdkCredentials = Pick<Credentials, 'findApp' | 'findCompany'>

/** Who sends a body, by its keys. */
interface SdkSender {
  app: AppCredential
  company: CompanyCredential
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Sender of an SDK route, or what is wrong with its keys. Null until they were looked up. */
    sender: SdkSender | Error | null
  }
}

/**
 * An `onRequest` hook that looks the keys up before a byte of the body is read: the body of an unknown sender is
 * dropped while it arrives. `takeSigned` later throws a fault of the keys, in its place among the checks.
 */
export const identifySdk =
  (credentials: SdkCredentials): onRequestAsyncHookHandler =>
  async (request) => {
    const sender = await findSender(credentials, request.headers).catch((error: Error) => error)
    request.sender = sender
    if (sender instanceof Error) return
    noteSender(request, sender.app)
  }

/** Looks up the sender on a route without a body, and throws a fault of the keys. */
export async function findAsker(credentials: SdkCredentials, request: FastifyRequest): Promise<AppCredential> {
  const { app } = await findSender(credentials, request.headers)
  noteSender(request, app)
  return app
}

/** Checks company key, app key, suspension and pair, in this order: the first that is wrong is answered (docs/api.md). */
async function findSender(credentials: SdkCredentials, headers: IncomingHttpHeaders): Promise<SdkSender> {
  const company = await credentials.findCompany(headers['x-service-company-key'] as string)
  if (!company) throw new CodedError('unknown_company_key')
  const app = await credentials.findApp(headers['x-service-app-key'] as string)
  if (!app) throw new CodedError('unknown_app_key')
  if (company.status === 'suspended') throw new CodedError('company_suspended')
  if (app.company_id !== company.company_id) throw new CodedError('app_company_mismatch')
  return { app, company }
}

/**
 * Returns the body and who signed it. Throws `empty_body`, then a fault of the keys, then `bad_signature`. The
 * signature is the lower-case hex HMAC-SHA256 of the exact wire bytes, compared in constant time. Every secret that is
 * valid at `now_ms` may have made it.
 */
export function takeSigned(request: FastifyRequest, now_ms: number): SdkSender & { wire: Buffer } {
  const { sender, body, headers, ingest } = request
  if (ingest.bytes === 0) throw new CodedError('empty_body')
  if (sender === null || sender instanceof Error) throw sender ?? new Error('the keys were not looked up')
  const wire = body as Buffer
  if (!isSigned(sender.app, wire, headers['x-service-signature'] as string, now_ms)) {
    throw new CodedError('bad_signature', { message: usual_causes })
  }
  ingest.proven = true
  request.takeShareAsSigned()
  return { ...sender, wire }
}

const usual_causes =
  'The signature is the lower-case hex HMAC-SHA256 of the bytes of the body, keyed with the signing secret. Usual causes: ' +
  'the JSON was encoded again after signing; it was signed before gzip, not after; the secret is that of another app, or was replaced.'

/** Tries every valid secret, even after one that fits: the time must not show which one it was. */
function isSigned(app: AppCredential, wire: Buffer, signature: string, now_ms: number): boolean {
  const given = Buffer.from(signature, 'latin1')
  let signed = isSignedBy(app.signing_secret, wire, given)
  for (const { signing_secret, ends_at_ms } of app.old_secrets) {
    if (now_ms < ends_at_ms) signed = isSignedBy(signing_secret, wire, given) || signed
  }
  return signed
}

function isSignedBy(signing_secret: string, wire: Buffer, given: Buffer): boolean {
  const expected = Buffer.from(createHmac('sha256', signing_secret).update(wire).digest('hex'), 'latin1')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
