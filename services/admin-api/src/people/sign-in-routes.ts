import { addRoute } from '@tributary/admin-http/add-route'
import { visitorOf } from '@tributary/admin-http/caller'
import { type SignedIn, signInRoutes } from '@tributary/contracts/admin/people/sign-in'
import { CodedError } from '@tributary/contracts/errors'
import type { CountRefusal } from '@tributary/service-kit/http/counted-log'
import { csrfToken } from '@tributary/tenancy/people/random-token'
import { type NewSession, proveSecondFactor, type SignInDeps, signIn } from '@tributary/tenancy/people/sign-in'
import { acceptInvitation, useReset } from '@tributary/tenancy/people/use-links'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { beginInBrowser } from './begin-session.ts'

/** Sign-in in one step or two, invitations and resets. A sign-in always begins a new session and ends that of the browser. */
export function addSignInRoutes(
  app: FastifyInstance,
  deps: SignInDeps & Pick<AdminApiDeps, 'sessions' | 'oidc_alone'>,
  countFailure: CountRefusal,
): void {
  const begin = async (request: FastifyRequest, reply: FastifyReply, made: NewSession): Promise<SignedIn> => {
    await beginInBrowser(deps, request, reply, made)
    return { next: made.next, csrf_token: csrfToken(made.session) }
  }
  const mustTakePasswords = () => {
    if (deps.oidc_alone === true)
      throw new CodedError('password_sign_in_off', { message: 'Sign in by the identity provider.' })
  }
  addRoute(app, signInRoutes.signIn, async ({ body }, request, reply) => {
    mustTakePasswords()
    const made = await signIn(deps, body, visitorOf(request)).catch((error: unknown) => {
      if (error instanceof CodedError && error.code === 'sign_in_failed') countFailure({ ip: request.client_ip })
      throw error
    })
    return begin(request, reply, made)
  })
  addRoute(app, signInRoutes.secondFactor, async ({ body }, request, reply) => {
    const { caller } = request
    if (caller?.kind !== 'person' || caller.session.complete) throw new CodedError('session_ended')
    return begin(request, reply, await proveSecondFactor(deps, caller.session, body.code, visitorOf(request)))
  })
  addRoute(app, signInRoutes.acceptInvitation, async ({ body }, request) => {
    const { caller } = request
    const own = caller?.kind === 'person' && caller.session.complete ? caller : null
    if (own === null) mustTakePasswords()
    const accepted = await acceptInvitation(deps, body, own?.session ?? null, visitorOf(request))
    if (own !== null) await deps.sessions.find(own.token, { anew: true }) // the next request has the role
    return accepted
  })
  addRoute(app, signInRoutes.useReset, ({ body }, request) => {
    mustTakePasswords()
    return useReset(deps, body, visitorOf(request))
  })
}
