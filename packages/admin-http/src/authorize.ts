import type { Membership } from '@tributary/contracts/admin/people/roles'
import { CodedError } from '@tributary/contracts/errors'
import { foreignCode, type Route } from '@tributary/contracts/route'
import { hasRoleOf, mayCall, mayGive, type Target } from '@tributary/domain/people/rights'
import { freshUntil } from '@tributary/domain/people/session-rules'
import type { Sessions } from '@tributary/tenancy/people/sessions/session-cache'
import type { FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import { membershipsOf } from './caller.ts'
import { readInput } from './read-input.ts'

export interface AuthorizeDeps {
  pool: Pool
  sessions: Pick<Sessions, 'find'>
  now: () => number
}

interface Named {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: Record<string, unknown>
}

/**
 * Makes the hook that reads the input of a declared route and refuses people without a role for it. A thing of another company
 * is refused as one that does not exist: with the same code, after the same query. A role that could never call the route
 * is refused before its input is read.
 */
export function authorize({ pool, sessions, now }: AuthorizeDeps) {
  return async (request: FastifyRequest): Promise<void> => {
    const route = request.routeOptions.config.declared as Route
    const memberships = route.auth === 'admin' ? membershipsOf(request) : null
    if (memberships !== null && !hasRoleOf(route, memberships)) throw foreign(route)
    const input = readInput(route, request) as Named
    request.input = input
    if (memberships !== null) request.target = await mustHaveRights(pool, route, memberships, input)
    if (route.fresh) await mustBeFresh(request, { sessions, now })
  }
}

/** Another process may have taken the password a moment ago: a session that is not fresh is read anew. */
async function mustBeFresh({ caller }: FastifyRequest, { sessions, now }: Omit<AuthorizeDeps, 'pool'>) {
  if (caller?.kind !== 'person' || now() < freshUntil(caller.session, now())) return
  const session = await sessions.find(caller.token, { anew: true })
  if (session === null) throw new CodedError('session_ended')
  if (now() >= freshUntil(session, now()))
    throw new CodedError('password_needed', { message: 'Give the password again: POST /admin/api/v1/me/confirm.' })
}

async function mustHaveRights(
  pool: Pool,
  route: Route,
  memberships: readonly Membership[],
  input: Named,
): Promise<Target | null> {
  const target = await findTarget(pool, route, input)
  if (!mayCall(route, memberships, target)) throw foreign(route)
  for (const [field, allowed] of Object.entries(route.fields ?? {}))
    if (input.body?.[field] !== undefined && !mayGive(allowed, memberships, target)) throw foreign(route)
  return target
}

const foreign = (route: Route) => new CodedError(foreignCode(route) ?? 'not_found')

/** An id that reaches a query. */
const idShape = /^[\w-]{1,64}$/

/** The app that a request to a route over apps names, whoever sends it. Throws `unknown_app`. */
export async function getApp(pool: Pool, request: FastifyRequest): Promise<Required<Target>> {
  // That of a person is known: their rights were looked at.
  const { target, routeOptions, input } = request
  const { company_id, app_id } =
    target ?? (await findTarget(pool, routeOptions.config.declared as Route, input as Named)) ?? {}
  if (company_id === undefined || app_id === undefined) throw new CodedError('unknown_app')
  return { company_id, app_id }
}

/** Whose the thing is that a request names; null for one that does not exist, and where none is named. */
async function findTarget(pool: Pool, { over }: Route, { params, query, body }: Named): Promise<Target | null> {
  if (over === undefined) return null
  const [kind, , where] = over.split(' ') as [keyof typeof ownerSql | 'company', string, 'path' | 'query' | 'body']
  const id = where === 'path' ? (params?.[`${kind}_id`] ?? params?.id) : { query, body }[where]?.[`${kind}_id`]
  if (typeof id !== 'string' || !idShape.test(id)) return null
  if (kind === 'company') return { company_id: id }
  const { rows } = await pool.query<Required<Target>>(ownerSql[kind], [id])
  return rows[0] ?? null
}

const ownerSql = {
  app: 'SELECT company_id, app_id FROM apps WHERE app_id = $1',
  key: 'SELECT a.company_id, a.app_id FROM server_keys k JOIN apps a USING (app_id) WHERE k.key_id = $1',
  link: 'SELECT a.company_id, a.app_id FROM links l JOIN apps a USING (app_id) WHERE l.link_id = $1',
}
