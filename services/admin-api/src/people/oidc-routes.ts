import { addRoute } from '@tributary/admin-http/add-route'
import { sessionOf, visitorOf } from '@tributary/admin-http/caller'
import { readCookie, setOidcCookie } from '@tributary/admin-http/cookies'
import { oidcRoutes } from '@tributary/contracts/admin/people/oidc'
import { CodedError, rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import type { CountRefusal } from '@tributary/service-kit/http/counted-log'
import type { IdentityProvider } from '@tributary/tenancy/people/oidc/identity-provider'
import { signInByOidc } from '@tributary/tenancy/people/oidc/oidc-sign-in'
import { beginTransaction, type OidcPurpose, useTransaction } from '@tributary/tenancy/people/oidc/oidc-transactions'
import { confirmByOidc, linkIdentity, mustHavePassword } from '@tributary/tenancy/people/oidc/own-identity'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { beginInBrowser } from './begin-session.ts'

type OidcDeps = Pick<
  AdminApiDeps,
  'pool' | 'sessions' | 'keyValue' | 'now' | 'oidc' | 'oidc_alone' | 'admin_url' | 'logger'
>

/** Sign-in by an identity provider: each way there begins with a change of the panel, and ends at one address. */
export function addOidcRoutes(app: FastifyInstance, deps: OidcDeps, countFailure: CountRefusal): void {
  const { pool, sessions, now, oidc } = deps
  const begin = async (request: FastifyRequest, reply: FastifyReply, purpose: OidcPurpose, session_id?: string) => {
    const provider = mustBeSet(oidc)
    await spendBegun(deps, request.client_ip)
    const token = await beginTransaction(pool, purpose, session_id ?? null, now())
    const authorization_url = await provider.addressOf(token, callbackOf(deps, request), purpose === 'confirm')
    setOidcCookie(reply, request.panel?.cookies ?? null, token)
    return { authorization_url }
  }
  addRoute(app, oidcRoutes.getSignInWays, () => ({
    ...{ password: deps.oidc_alone !== true, oidc: oidc !== undefined },
  }))
  addRoute(app, oidcRoutes.beginOidcSignIn, (_input, request, reply) => begin(request, reply, 'sign_in'))
  addRoute(app, oidcRoutes.linkOidc, (_input, request, reply) => {
    const session = sessionOf(request)
    mustHavePassword(session)
    return begin(request, reply, 'link', session.session_id)
  })
  addRoute(app, oidcRoutes.confirmByOidc, (_input, request, reply) =>
    begin(request, reply, 'confirm', sessionOf(request).session_id),
  )

  addRoute(app, oidcRoutes.answerOidc, async (_input, request, reply) => {
    const provider = mustBeSet(oidc)
    const token = readCookie(request.headers.cookie, request.panel?.cookies?.oidc)
    setOidcCookie(reply, request.panel?.cookies ?? null, '')
    const next = await finish(provider, token, request, reply).catch((error: unknown) => {
      if (error instanceof CodedError && error.code === 'oidc_failed') countFailure({ ip: request.client_ip })
      throw error
    })
    return reply.status(303).header('location', `/admin/${next}`).send()
  })

  /** The page of the panel that comes next. */
  async function finish(
    provider: IdentityProvider,
    token: string | null,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const transaction = await useTransaction(pool, token, now())
    const { search } = new URL(request.url, 'http://localhost')
    const identity = await provider.redeem(token ?? '', new URL(callbackOf(deps, request) + search))
    const { settings } = provider
    if (transaction.purpose === 'link')
      await linkIdentity(deps, transaction, { identity, settings }, visitorOf(request))
    if (transaction.purpose === 'confirm') await confirmByOidc(deps, transaction, identity)
    if (transaction.purpose !== 'sign_in') return ''
    const made = await signInByOidc(deps, identity, settings, visitorOf(request))
    await beginInBrowser({ pool, sessions }, request, reply, made)
    return made.next === 'done' ? '' : 'second-factor'
  }
}

function mustBeSet(oidc: IdentityProvider | undefined): IdentityProvider {
  if (oidc === undefined)
    throw new CodedError('oidc_off', { message: 'No identity provider is set: TRIBUTARY_OIDC_ISSUER.' })
  return oidc
}

/** The redirect URI. */
const callbackOf = ({ admin_url }: OidcDeps, { panel }: FastifyRequest): string =>
  `${admin_url === undefined ? panel?.origin : new URL(admin_url).origin}${oidcRoutes.answerOidc.path}`

/** A row for each is kept ten minutes: nobody fills the table. While the counters are away nobody is refused. */
async function spendBegun({ keyValue, logger }: OidcDeps, ip: string): Promise<void> {
  const key = `oidc_begun:${addressBlock(ip)}`
  const hit = await keyValue.hitWindow(key, limits.oidc_begun_max, limits.oidc_ms_max).catch((err: unknown) => {
    logger.warn({ err }, 'the counters are away: sign-ins at the identity provider are not counted')
  })
  if (hit?.allowed === false) throw rateLimited(hit.retry_after_ms)
}
