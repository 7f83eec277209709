import { addRoute } from '@tributary/admin-http/add-route'
import { sessionOf, tokenOf, visitorOf } from '@tributary/admin-http/caller'
import { setCookies } from '@tributary/admin-http/cookies'
import { ownAccountRoutes } from '@tributary/contracts/admin/people/own-account'
import { CodedError } from '@tributary/contracts/errors'
import { freshUntil } from '@tributary/domain/people/session-rules'
import {
  changePassword,
  confirmPassword,
  confirmSecondFactor,
  disableSecondFactor,
  findMe,
  offerSecondFactor,
} from '@tributary/tenancy/people/own-account'
import { csrfToken } from '@tributary/tenancy/people/random-token'
import { endSession, listSessions } from '@tributary/tenancy/people/sessions/sessions'
import type { SignInDeps } from '@tributary/tenancy/people/sign-in'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

const done = { done: true } as const

/** What a person does to the own account. */
export function addOwnAccountRoutes(
  app: FastifyInstance,
  deps: SignInDeps & Pick<AdminApiDeps, 'sessions' | 'public_url'>,
): void {
  const { pool, sessions, public_url, now } = deps
  addRoute(app, ownAccountRoutes.getMe, async (_input, request) => {
    const session = sessionOf(request)
    const { person_id, email, session_id } = session
    const found = await findMe(pool, session)
    return {
      person_id,
      email,
      session_id,
      ...found,
      csrf_token: csrfToken(tokenOf(request)),
      public_url: public_url?.replace(/\/+$/, '') ?? null,
      fresh_until_ms: freshUntil(session, now()),
    }
  })
  addRoute(app, ownAccountRoutes.signOut, async (_input, request, reply) => {
    const { person_id, session_id } = sessionOf(request)
    await endSession(pool, person_id, session_id)
    await sessions.find(tokenOf(request), { anew: true }) // this process knows it at once
    setCookies(reply, request.panel?.cookies ?? null, { session: '' })
    return done
  })
  addRoute(app, ownAccountRoutes.confirmPassword, async ({ body }, request) => {
    await confirmPassword(deps, sessionOf(request), body.password, visitorOf(request))
    return done
  })
  addRoute(app, ownAccountRoutes.changePassword, async ({ body }, request) => {
    await changePassword(deps, sessionOf(request), body, visitorOf(request))
    return done
  })
  addRoute(app, ownAccountRoutes.listSessions, async (_input, request) => ({
    sessions: await listSessions(pool, sessionOf(request), now()),
  }))
  addRoute(app, ownAccountRoutes.revokeSession, async ({ params }, request) => {
    const { person_id } = sessionOf(request)
    if (!(await endSession(pool, person_id, params.id.toWellFormed().replaceAll('\0', ''))))
      throw new CodedError('unknown_session')
    return done
  })
  addRoute(app, ownAccountRoutes.offerTotp, (_input, request) => offerSecondFactor(deps, sessionOf(request)))
  addRoute(app, ownAccountRoutes.confirmTotp, async ({ body }, request) => ({
    recovery_codes: await confirmSecondFactor(deps, sessionOf(request), body.code, visitorOf(request)),
  }))
  addRoute(app, ownAccountRoutes.disableTotp, async (_input, request) => {
    await disableSecondFactor(pool, sessionOf(request), visitorOf(request), now())
    return done
  })
}
