import { sign } from 'node:crypto'
import type { ServiceAccount } from '@tributary/contracts/receipt/store-credentials'
import { type Ask, readJson } from '../ask.ts'

const own_url = 'https://oauth2.googleapis.com/token'
const scope = 'https://www.googleapis.com/auth/androidpublisher'
/** Of an assertion; Google allows an hour. */
const assertion_s = 3600
/** A token is not used in the last part of its life. */
const spare_ms = 60_000

/** The access token of a service account, asked for once and kept until shortly before it ends. */
export interface AccessToken {
  get(): Promise<{ token: string } | 'refused' | 'store_away'>
  /** The API refused it: the next one is asked for. */
  forget(): void
}

type Got = { token: string; until_ms: number } | 'refused' | 'store_away'

interface Options {
  ask: Ask
  /** The assertion is for Google's own address whatever this is: a proxy may stand there. */
  url?: string | undefined
  now?: (() => number) | undefined
}

/**
 * Google, "Using OAuth 2.0 for Server to Server Applications". Google's library would do this with 14 MB and without limits for
 * requests. `token_uri` of the account's file leads nowhere.
 */
export function openAccessToken(account: ServiceAccount, { ask, url = own_url, now = Date.now }: Options): AccessToken {
  let kept: Promise<Got> | null = null

  async function request(): Promise<Got> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
    const assertion = assertionOf(account, now())
    if (assertion === null) return 'refused'
    const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
    const answer = await ask(url, { method: 'POST', headers, body: String(body) }).catch(() => null)
    if (answer !== null && [400, 401, 403].includes(answer.status)) return 'refused'
    const { access_token, expires_in } = (answer?.status === 200 && readJson(answer.text)) || {}
    if (typeof access_token !== 'string' || typeof expires_in !== 'number') return 'store_away'
    return { token: access_token, until_ms: now() + expires_in * 1000 - spare_ms }
  }

  return {
    async get() {
      const before = kept
      const got = await before
      if (got !== null && typeof got === 'object' && now() < got.until_ms) return got
      // Of several that come here at once the first one asks.
      if (kept === before || kept === null) kept = request()
      return kept
    },
    forget() {
      kept = null
    },
  }
}

/** Null for a key that cannot sign. */
function assertionOf({ client_email, private_key, private_key_id }: ServiceAccount, now_ms: number): string | null {
  const iat = Math.floor(now_ms / 1000)
  const header = { alg: 'RS256', typ: 'JWT', ...(private_key_id !== undefined && { kid: private_key_id }) }
  const claims = { iss: client_email, scope, aud: own_url, iat, exp: iat + assertion_s }
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  try {
    return `${text}.${sign('sha256', Buffer.from(text), private_key).toString('base64url')}`
  } catch {
    return null
  }
}
