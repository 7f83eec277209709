import { hash } from 'node:crypto'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { Settings } from '@tributary/service-kit/settings/read-settings'
import * as oidc from 'openid-client'
import type { Logger } from 'pino'

export interface OidcSettings {
  issuer: string
  client_id: string
  client_secret?: string | undefined
  /** Name of the claim with roles; without it nobody has a role by the provider. */
  role_claim?: string | undefined
  /** Domains of email that may sign in; empty: any. */
  allowed_domains: readonly string[]
}

/** Whom the provider has signed in. Issuer and subject name a person; the email may be another one's tomorrow. */
export interface Identity {
  issuer: string
  subject: string
  /** Null unless the provider has verified it. */
  email: string | null
  /** When the person last proved to be there; null where the provider does not say. */
  auth_time_ms: number | null
  /** The role claim as it came. */
  role_claim: unknown
}

/** The identity provider of an installation. */
export interface IdentityProvider {
  settings: OidcSettings
  /** Where a browser begins; `anew` asks the person again. Throws `oidc_unavailable`. */
  addressOf(token: string, redirect_uri: string, anew: boolean): Promise<string>
  /** Redeems the address to which the provider sent the browser back. Throws `oidc_failed` and `oidc_unavailable`. */
  redeem(token: string, answer: URL): Promise<Identity>
}

/** State, nonce and code verifier follow from the token in the cookie: an answer fits the browser that began, or nothing. */
const derive = (purpose: 'state' | 'nonce' | 'verifier', token: string): string =>
  hash('sha256', `oidc ${purpose} ${token}`, 'base64url')

/** The provider of `TRIBUTARY_OIDC_ISSUER`; undefined where it is not set. */
export function identityProviderOf(
  config: Settings<OidcSettingName>,
  service: { now: () => number; logger: Pick<Logger, 'warn'> },
): IdentityProvider | undefined {
  const { TRIBUTARY_OIDC_ISSUER: issuer, TRIBUTARY_OIDC_CLIENT_ID: client_id } = config
  if (issuer === undefined || client_id === undefined) return undefined
  const settings = {
    ...{ issuer, client_id, client_secret: config.TRIBUTARY_OIDC_CLIENT_SECRET },
    ...{ role_claim: config.TRIBUTARY_OIDC_ROLE_CLAIM, allowed_domains: config.TRIBUTARY_OIDC_ALLOWED_DOMAINS },
  }
  return openIdentityProvider(settings, service)
}
type OidcSettingName = `TRIBUTARY_OIDC_${'ISSUER' | 'CLIENT_ID' | 'CLIENT_SECRET' | 'ROLE_CLAIM' | 'ALLOWED_DOMAINS'}`

interface Discovered {
  config: Promise<oidc.Configuration>
  until_ms: number
}

/** The provider of these settings. It is not asked before the first sign-in, so its absence stops no start. */
export function openIdentityProvider(
  settings: OidcSettings,
  { now, logger }: { now: () => number; logger: Pick<Logger, 'warn'> },
): IdentityProvider {
  let kept: Discovered | null = null

  /** Kept for an hour; a failure for a moment, so that sign-ins do not wait one after the other. */
  function discover(): Promise<oidc.Configuration> {
    const left_ms = (kept?.until_ms ?? 0) - now()
    if (kept !== null && left_ms > 0 && left_ms <= limits.oidc_discovery_ms) return kept.config
    const made: Discovered = { config: discoverNow(settings), until_ms: now() + limits.oidc_discovery_ms }
    made.config.catch(() => {
      made.until_ms = now() + limits.oidc_retry_ms
    })
    kept = made
    return made.config
  }

  /** The log gets the words of a failure alone: its objects hold requests, and so secrets. */
  function refuse(error: unknown): never {
    const code = (error as { code?: string }).code
    const cause = (error as { cause?: { message?: string } }).cause?.message
    logger.warn({ code, reason: (error as Error).message, cause }, 'a sign-in at the identity provider failed')
    if (isRefusal(error))
      throw new CodedError('oidc_failed', { message: 'The identity provider refused, or its answer does not hold.' })
    throw new CodedError('oidc_unavailable', {
      message: 'The identity provider does not answer.',
      headers: { 'retry-after': String(limits.oidc_retry_ms / 1000) },
    })
  }

  return {
    settings,
    async addressOf(token, redirect_uri, anew) {
      const config = await discover().catch(refuse)
      const address = oidc.buildAuthorizationUrl(config, {
        ...{ redirect_uri, scope: 'openid email', state: derive('state', token), nonce: derive('nonce', token) },
        code_challenge: await oidc.calculatePKCECodeChallenge(derive('verifier', token)),
        ...{ code_challenge_method: 'S256', ...(anew ? { max_age: '0' } : {}) },
      })
      return address.href
    },
    async redeem(token, answer) {
      try {
        const config = await discover()
        const tokens = await oidc.authorizationCodeGrant(config, answer, {
          ...{ expectedState: derive('state', token), expectedNonce: derive('nonce', token), idTokenExpected: true },
          pkceCodeVerifier: derive('verifier', token),
        })
        return toIdentity(await claimsOf(config, tokens), settings)
      } catch (error) {
        return refuse(error)
      }
    },
  }
}

async function discoverNow({ issuer, client_id, client_secret }: OidcSettings): Promise<oidc.Configuration> {
  // Signatures of id tokens are checked too, although they come from the provider itself.
  const execute = [oidc.enableNonRepudiationChecks]
  if (issuer.startsWith('http:')) execute.push(oidc.allowInsecureRequests) // the setting allows this machine alone
  const auth = client_secret === undefined ? oidc.None() : bySecret(client_secret)
  const timeout = limits.oidc_wait_ms_max / 1000
  const metadata = { [oidc.clockTolerance]: limits.clocks_differ_ms_max / 1000 }
  return oidc.discovery(new URL(issuer), client_id, metadata, auth, { execute, timeout })
}

/** In the way that the provider says it takes; `Basic` is the standard's default. */
const bySecret =
  (secret: string): oidc.ClientAuth =>
  (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    const takesBasic = methods.some((method) => method.endsWith('_basic'))
    const auth = takesBasic ? oidc.ClientSecretBasic : oidc.ClientSecretPost
    return auth(secret)(server, ...rest)
  }

type Tokens = Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>
type Claims = Readonly<Record<string, unknown>> & { iss: string; sub: string; auth_time?: number | undefined }

/** The claims of the id token, and those that the provider gives at its userinfo endpoint alone. */
async function claimsOf(config: oidc.Configuration, tokens: Tokens): Promise<Claims> {
  const claims = tokens.claims()!
  if (claims.email !== undefined || config.serverMetadata().userinfo_endpoint === undefined) return claims
  return { ...(await oidc.fetchUserInfo(config, tokens.access_token, claims.sub)), ...claims }
}

const toIdentity = (claims: Claims, { role_claim }: OidcSettings): Identity => ({
  ...{ issuer: claims.iss, subject: claims.sub, role_claim: role_claim === undefined ? undefined : claims[role_claim] },
  email: typeof claims.email === 'string' && claims.email_verified === true ? claims.email : null,
  auth_time_ms: claims.auth_time === undefined ? null : claims.auth_time * 1000,
})

/** Failures that repeat however often they are tried. */
function isRefusal(error: unknown): boolean {
  if (error instanceof oidc.AuthorizationResponseError) return error.error !== 'temporarily_unavailable'
  if (error instanceof oidc.ResponseBodyError) return error.status < 500
  if (!(error instanceof oidc.ClientError)) return false
  return !['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'].includes(
    error.code ?? '',
  )
}
