import type { Membership, Role } from '@tributary/contracts/admin/people/roles'
import type { Route } from '@tributary/contracts/route'

/** The target over which a person must hold a role: a company, or one app of it. */
export interface Target {
  company_id: string
  app_id?: string | undefined
}

type Declared = Pick<Route, 'roles' | 'over' | 'limited'>

/** Whether a person has any role of a route, over any target. */
export const hasRoleOf = ({ roles = [] }: Declared, memberships: readonly Membership[]): boolean =>
  memberships.some(({ role }) => roles.includes(role))

/**
 * Whether a person may call a route for a target. An operator stands above companies. Every other role counts in its
 * own company. A role that is limited to apps counts only for these apps; it counts for the whole company only if the
 * route says so. Without a target, a role over anything is enough. But if the route needs a target that the request
 * does not name, only an operator may call it.
 */
export function mayCall(route: Declared, memberships: readonly Membership[], target: Target | null): boolean {
  const { over, limited = false } = route
  return memberships.some((held) => {
    if (!hasRoleOf(route, [held])) return false
    if (held.role === 'operator') return true
    if (target === null) return over === undefined
    if (held.company_id !== target.company_id) return false
    if (held.apps === null) return true
    return target.app_id === undefined ? limited : held.apps.includes(target.app_id)
  })
}

/** Whether a person may send a field of a body: the person needs a role of its list over the target. */
export const mayGive = (allowed: readonly Role[], memberships: readonly Membership[], target: Target | null): boolean =>
  mayCall({ roles: allowed, over: 'company of path' }, memberships, target)

/** Companies that a person has a role in; null for an operator, who sees all. */
export function companiesOf(memberships: readonly Membership[]): ReadonlySet<string> | null {
  if (memberships.some(({ role }) => role === 'operator')) return null
  return new Set(memberships.flatMap(({ company_id }) => company_id ?? []))
}

/** The apps of a company that a person may see; null: all of them. */
export function appsOf(memberships: readonly Membership[], company_id: string): ReadonlySet<string> | null {
  const apps = memberships.find((held) => held.company_id === company_id)?.apps
  return apps == null ? null : new Set(apps)
}
