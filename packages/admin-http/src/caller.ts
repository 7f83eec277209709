import type { Membership } from '@tributary/contracts/admin/people/roles'
import { CodedError } from '@tributary/contracts/errors'
import type { Route } from '@tributary/contracts/route'
import type { PanelOrigin } from '@tributary/domain/people/panel-origin'
import type { Target } from '@tributary/domain/people/rights'
import type { OpenSession, Visitor } from '@tributary/tenancy/people/sessions/sessions'
import type { FastifyRequest } from 'fastify'
import { readCookie } from './cookies.ts'

/** Who sends a request, once that is proven. */
export type Caller = { kind: 'token' } | { kind: 'person'; session: OpenSession; token: string }

declare module 'fastify' {
  interface FastifyRequest {
    /** Null for nobody: on routes of auth `sign_in` alone. */
    caller: Caller | null
    /** The address that the browser used. */
    panel: PanelOrigin | null
    /** What the person who calls has a role over; null where the route is over nothing, and for the admin token. */
    target: Target | null
    /** The checked input of the declared route. */
    input: unknown
  }
  interface FastifyContextConfig {
    declared?: Route
  }
}

/** The session of the person who calls. Throws `sign_in_required` without one. */
export function sessionOf({ caller }: FastifyRequest): OpenSession {
  if (caller?.kind === 'person') return caller.session
  throw new CodedError('sign_in_required')
}

/** The token of that session. */
export const tokenOf = ({ caller }: FastifyRequest): string => (caller?.kind === 'person' ? caller.token : '')

/** The roles of the person who calls; null for the admin token, which may do everything. */
export const membershipsOf = ({ caller }: FastifyRequest): readonly Membership[] | null =>
  caller?.kind === 'person' ? caller.session.memberships : null

/** What is noted of whoever sends a request. */
export const visitorOf = ({ client_ip: ip, headers, id: request_id, panel }: FastifyRequest): Visitor => ({
  ...{ ip, request_id, agent: (headers['user-agent'] ?? '').toWellFormed() },
  browser: readCookie(headers.cookie, panel?.cookies?.browser),
})
