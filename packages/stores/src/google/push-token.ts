import { limits } from '@tributary/contracts/limits'
import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from 'jose'
import { type Ask, readJson } from '../ask.ts'

const own_url = 'https://www.googleapis.com/oauth2/v3/certs'
const issuers = ['https://accounts.google.com', 'accounts.google.com']

/** Why a token does not prove that Pub/Sub pushes for an app; `keys_away`: the keys of Google could not be fetched. */
export type TokenFault = 'bad_token' | 'wrong_audience' | 'wrong_email' | 'keys_away'

/** Whom a token must name. */
export interface PushBinding {
  /** One of them. */
  audiences: readonly string[]
  email: string
}

/** Proves the OIDC tokens with which Pub/Sub pushes (Google, "Authentication for push subscriptions"). Null: proven. */
export type ProvePush = (token: string, binding: PushBinding) => Promise<TokenFault | null>

interface Options {
  ask: Ask
  /** `TRIBUTARY_GOOGLE_CERTS_URL`. */
  url?: string | undefined
  now: () => number
}

/**
 * Proves tokens with the keys of Google, which are fetched when first needed, each hour, and for a key that is not known.
 * After a failure the last ones do for a day. Never throws for what a stranger sends.
 */
export function provePush({ ask, url = own_url, now }: Options): ProvePush {
  const keys = openKeys(ask, url, now)
  return async (token, { audiences, email }) => {
    if (token.length > limits.google_token_chars_max) return 'bad_token'
    const verify = (known: KeySet) =>
      jwtVerify(token, known, {
        ...{ algorithms: ['RS256'], issuer: issuers, audience: [...audiences] },
        ...{ requiredClaims: ['exp', 'iat'], currentDate: new Date(now()) },
        clockTolerance: limits.google_clocks_differ_ms_max / 1000,
      })
    try {
      const known = await keys.get()
      if (known === null) return 'keys_away'
      const { payload } = await verify(known).catch(async (err: unknown) => {
        if (!(err instanceof errors.JWKSNoMatchingKey)) throw err
        // Google may have a new key. What is fetched again at most once in a while is no work that strangers can make.
        const newer = await keys.renew()
        if (newer === null) throw new KeysAway()
        return verify(newer)
      })
      return payload.email === email && payload.email_verified === true ? null : 'wrong_email'
    } catch (err) {
      if (err instanceof KeysAway) return 'keys_away'
      const is_audience = err instanceof errors.JWTClaimValidationFailed && err.claim === 'aud'
      return is_audience ? 'wrong_audience' : 'bad_token'
    }
  }
}

class KeysAway extends Error {}

type KeySet = ReturnType<typeof createLocalJWKSet>

interface Keys {
  /** The keys as they were fetched in the last hour, or while Google is away in the last day; null: there are none. */
  get(): Promise<KeySet | null>
  /** Fetches them unless that was done a moment ago; null when the last fetch failed. */
  renew(): Promise<KeySet | null>
}

function openKeys(ask: Ask, url: string, now: () => number): Keys {
  let kept: { set: KeySet; fetched_at_ms: number } | null = null
  let tried: { at_ms: number; succeeded: Promise<boolean> } | null = null

  const ageOf = (at_ms: number | undefined): number =>
    at_ms === undefined ? Number.POSITIVE_INFINITY : Math.abs(now() - at_ms) // a clock that was set back

  async function fetchNow(at_ms: number): Promise<boolean> {
    const answer = await ask(url, { method: 'GET', headers: { accept: 'application/json' } }).catch(() => null)
    const set = answer?.status === 200 ? keySetOf(answer.text) : null
    if (set !== null) kept = { set, fetched_at_ms: at_ms }
    return set !== null
  }

  /** One fetch at a time, and none soon after another one. */
  function fetchAgain(): Promise<boolean> {
    if (tried === null || ageOf(tried.at_ms) >= limits.google_certs_retry_ms)
      tried = { at_ms: now(), succeeded: fetchNow(now()) }
    return tried.succeeded
  }

  return {
    async get() {
      const fetched = ageOf(kept?.fetched_at_ms) >= limits.google_certs_fresh_ms ? fetchAgain() : null
      // Nobody waits for a fetch while the last keys do.
      if (ageOf(kept?.fetched_at_ms) >= limits.google_certs_stale_ms_max && !(await fetched)) return null
      return kept?.set ?? null
    },
    renew: async () => ((await fetchAgain()) ? (kept?.set ?? null) : null),
  }
}

/** The RSA keys of a JWK set; null for another text, and for one without any. */
function keySetOf(text: string): KeySet | null {
  const { keys } = readJson(text) ?? {}
  if (!Array.isArray(keys)) return null
  const rsa = keys.filter((key) => typeof key === 'object' && key !== null && key.kty === 'RSA')
  if (rsa.length === 0) return null
  try {
    return createLocalJWKSet({ keys: rsa } as JSONWebKeySet)
  } catch {
    return null
  }
}
