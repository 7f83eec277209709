import type { Me } from '@tributary/contracts/admin/people/own-account'
import type { Role } from '@tributary/contracts/admin/people/roles'

/** Whether the person holds one of the roles, over the company where one is named. */
export const hasRole = (me: Pick<Me, 'memberships'>, roles: readonly Role[], company_id?: string): boolean =>
  me.memberships.some(
    (held) =>
      roles.includes(held.role) &&
      (company_id === undefined || held.role === 'operator' || held.company_id === company_id),
  )

/** The companies that the person has a role over. */
export const companiesOf = (me: Pick<Me, 'memberships'>): string[] => [
  ...new Set(me.memberships.flatMap(({ company_id }) => company_id ?? [])),
]
