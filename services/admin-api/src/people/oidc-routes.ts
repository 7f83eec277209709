import { addRoute } from '@tributary/admin-http/add-route'
import { sessionOf, visitorOf } from '@tributary/admin-http/caller'
import { readCookie, setOidcCookie } from '@tributary/admin-http/cookies'
import { oidcRoutes } from '@tributary/contracts/admin/people/oidc'
import { CodedError } from '@tributary/contracts/errors'
import type { CountRefusal } from '@tributary/service-kit/http/counted-log'
import type { IdentityProvider } from '@tributary/tenancy/people/oidc/identity-provider'
import { signInByOidc } from '@tributary/tenancy/people/oidc/oidc-sign-in'
import { type OidcPurpose, openTransactions } from '@tributary/tenancy/people/oidc/oidc-transactions'
import {
  confirmByOidc,
  linkIdentity,
  mustHavePassword,
  unlinkIdentities,
} from '@tributary/tenancy/people/oidc/own-identity'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { beginInBrowser } from './begin-session.ts'

type OidcDeps = Pick<AdminApiDeps, 'pool' | 'masterKeys' | 'sessions' | 'now' | 'oidc' | 'oidc_alone' | 'admin_url'>

/** Sign-in by an identity provider: each way there begins with a change of the panel, and ends at one address. */
export function addOidcRoutes(app: FastifyInstance, deps: OidcDeps, countFailure: CountRefusal): void {
  const { pool, sessions, oidc } = deps
  const transactions = openTransactions(deps)
  const begin = async (request: FastifyRequest, reply: FastifyReply, purpose: OidcPurpose, session_id?: string) => {
    const provider = mustBeSet(oidc)
    const { token, cookie } = transactions.begin(purpose, session_id ?? null)
    const authorization_url = await provider.addressOf(token, callbackOf(deps, request), purpose === 'confirm')
    setOidcCookie(reply, request.panel?.cookies ?? null, cookie)
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
  addRoute(app, oidcRoutes.unlinkOidc, async (_input, request) => {
    const session = sessionOf(request)
    mustHavePassword(session)
    await unlinkIdentities(deps, session, visitorOf(request))
    return { done: true } as const
  })
  addRoute(app, oidcRoutes.confirmByOidc, (_input, request, reply) =>
    begin(request, reply, 'confirm', sessionOf(request).session_id),
  )

  addRoute(app, oidcRoutes.answerOidc, async (_input, request, reply) => {
    const provider = mustBeSet(oidc)
    const cookie = readCookie(request.headers.cookie, request.panel?.cookies?.oidc)
    setOidcCookie(reply, request.panel?.cookies ?? null, '')
    const next = await finish(provider, cookie, request, reply).catch((error: unknown) => {
      if (error instanceof CodedError && error.code === 'oidc_failed') countFailure({ ip: request.client_ip })
      throw error
    })
    return reply.status(303).header('location', `/admin/${next}`).send()
  })

  /** The page of the panel that comes next. */
  async function finish(
    provider: IdentityProvider,
    cookie: string | null,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const transaction = transactions.use(cookie)
    const { search } = new URL(request.url, 'http://localhost')
    const identity = await provider.redeem(transaction.token, new URL(callbackOf(deps, request) + search))
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
