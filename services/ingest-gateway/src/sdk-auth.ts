import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { CodedError } from '@tributary/contracts/errors'
import type { AppCredential, CompanyCredential, Credentials } from '@tributary/postgres/credentials'
import type { onRequestHookHandler } from 'fastify'

/** Before a byte of the body is read: 400 `missing_auth_headers` unless all three headers are there and not empty. */
export const requireAuthHeaders: onRequestHookHandler = (request, _reply, done) => {
  const { headers } = request
  const all = headers['x-service-company-key'] && headers['x-service-app-key'] && headers['x-service-signature']
  done(all ? undefined : new CodedError('missing_auth_headers'))
}

/** Who signed a body. */
export interface SdkSender {
  app: AppCredential
  company: CompanyCredential
}

/**
 * The app that signed the body, and its company: company key, app key, suspension, pair, signature, in this order (decisions.md "Check
 * order on /event"). The signature is lower-case hex HMAC-SHA256 over the exact wire bytes, compared in constant time.
 * Each secret that is valid at `now_ms` signs.
 */
export async function authenticateSdk(
  credentials: Credentials,
  headers: IncomingHttpHeaders,
  wire: Buffer,
  now_ms: number,
): Promise<SdkSender> {
  const company = await credentials.findCompany(headers['x-service-company-key'] as string)
  if (!company) throw new CodedError('unknown_company_key')
  const app = await credentials.findApp(headers['x-service-app-key'] as string)
  if (!app) throw new CodedError('unknown_app_key')
  if (company.status === 'suspended') throw new CodedError('company_suspended')
  if (app.company_id !== company.company_id) throw new CodedError('app_company_mismatch')
  if (!isSigned(app, wire, headers['x-service-signature'] as string, now_ms)) {
    throw new CodedError('bad_signature')
  }
  return { app, company }
}

/** Tries every valid secret, also after one that fits: the time does not tell which one it was. */
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
