import { type Membership, type Role, roles } from '@tributary/contracts/admin/people/roles'
import { limits } from '@tributary/contracts/limits'

/**
 * The roles in a claim of an identity provider: a text or a list of texts, each `operator` or `COMPANY_ID:ROLE`. Everything else in it is
 * the provider's own and counts nothing. The first role of a company counts.
 */
export function claimedRoles(claim: unknown): Membership[] {
  const byCompany = new Map<string | null, Membership>()
  for (const entry of [claim].flat().slice(0, limits.oidc_claims_max)) {
    const found = typeof entry === 'string' ? readEntry(entry) : null
    if (found !== null && !byCompany.has(found.company_id)) byCompany.set(found.company_id, found)
  }
  return [...byCompany.values()]
}

function readEntry(entry: string): Membership | null {
  if (entry === 'operator') return { role: 'operator', company_id: null, apps: null }
  const [, company_id, role] = /^([\w-]{1,64}):(\w+)$/.exec(entry) ?? []
  if (company_id === undefined || role === 'operator' || !roles.includes(role as Role)) return null
  return { role: role as Role, company_id, apps: null }
}
