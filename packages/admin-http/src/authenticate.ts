import { CodedError } from '@tributary/contracts/errors'
import type { Route } from '@tributary/contracts/route'
import type { PanelOrigin } from '@tributary/domain/people/panel-origin'
import { isCsrfToken } from '@tributary/tenancy/people/random-token'
import type { Sessions } from '@tributary/tenancy/people/sessions/session-cache'
import type { FastifyRequest } from 'fastify'
import type { Caller } from './caller.ts'
import { readCookie } from './cookies.ts'
import { type PanelAddress, readPanelOrigin } from './panel-origins.ts'

interface AuthenticateOptions extends PanelAddress {
  sessions: Pick<Sessions, 'find'>
  /** Throws for another token. */
  requireToken(request: FastifyRequest): void
}

/**
 * Makes the hook that finds out who sends a request: before its body is read, and before anything says whether what it names
 * exists. A request with an `Authorization` is that of the token, whatever cookies it has; but for `Basic`: a browser in which
 * somebody read `/admin/docs` adds that to all below `/admin/` by itself, so it neither opens nor refuses anything here.
 */
export function authenticate({ sessions, requireToken, ...address }: AuthenticateOptions) {
  const originOf = readPanelOrigin(address)
  return async (request: FastifyRequest): Promise<void> => {
    const { auth } = request.routeOptions.config.declared as Route
    request.panel = originOf(request)
    const token = readCookie(request.headers.cookie, request.panel?.cookies?.session)
    if (auth === 'sign_in') mustBeSafeAddress(request.panel)
    const { authorization = 'Basic' } = request.headers
    const takesToken = auth === 'admin' && (!/^basic\b/i.test(authorization) || token === null)
    if (takesToken) requireToken(request)
    request.caller = takesToken ? { kind: 'token' } : await findPerson(sessions, token)
    if (takesToken) return
    if (auth !== 'sign_in') mustHaveSession(request.caller, token)
    if (request.method !== 'GET' && request.method !== 'HEAD') mustComeFromPanel(request, auth)
  }
}

/** The person whose session a cookie names, also one that waits for its second factor; null without any. */
export async function findPerson(sessions: Pick<Sessions, 'find'>, token: string | null): Promise<Caller | null> {
  const session = token === null || token === '' ? null : await sessions.find(token)
  return session === null || token === null ? null : { kind: 'person', session, token }
}

function mustHaveSession(caller: Caller | null, token: string | null): void {
  if (token === null || token === '') throw new CodedError('sign_in_required')
  if (caller?.kind !== 'person' || !caller.session.complete) throw new CodedError('session_ended')
}

function mustBeSafeAddress(panel: PanelOrigin | null): void {
  if (panel?.cookies) return
  throw new CodedError('insecure_address', {
    message:
      'Sign-in needs https, or http on 127.0.0.1 or localhost. Set TRIBUTARY_ADMIN_URL to the https address of the panel.',
  })
}

/** No page of another site, and none at another port, can send a change: its `Origin` is another, and it knows no CSRF token. */
function mustComeFromPanel({ headers, panel, caller }: FastifyRequest, auth: Route['auth']): void {
  const forged = (message: string) => new CodedError('forged_request', { message })
  if (panel === null || headers.origin !== panel.origin) throw forged(`The header Origin must be ${panel?.origin}.`)
  if (auth === 'sign_in' || caller?.kind !== 'person') return
  const given = headers['x-csrf-token']
  if (typeof given !== 'string' || !isCsrfToken(given, caller.token))
    throw forged('The header X-Csrf-Token must be that of the session (GET /admin/api/v1/me).')
}
