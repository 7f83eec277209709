import { z } from 'zod'

/** The roles of people: `operator` is for the whole installation, each other role is held in a company (docs/people.md#roles). */
export const roles = ['owner', 'admin', 'marketer', 'privacy', 'analyst', 'operator'] as const
export type Role = (typeof roles)[number]

/** The roles within a company. */
export const companyRoles = ['owner', 'admin', 'marketer', 'privacy', 'analyst'] as const satisfies readonly Role[]

/** Who manages the apps and keys of a company. */
export const managers = ['owner', 'admin'] as const satisfies readonly Role[]
/** Who changes links and conversion values of a company. */
export const marketers = ['owner', 'admin', 'marketer'] as const satisfies readonly Role[]
/** Who reads links and conversion values. */
export const readers = ['owner', 'admin', 'marketer', 'analyst'] as const satisfies readonly Role[]

/** A role of a person. */
export interface Membership {
  role: Role
  /** Null for an operator. */
  company_id: string | null
  /** Apps of the company that the role is limited to; null: all of it. */
  apps: readonly string[] | null
}

export const Membership = z.object({
  role: z.enum(roles),
  company_id: z.string().nullable().describe('null for an operator.'),
  apps: z.array(z.string()).nullable().describe('Apps that the role is limited to; null: the whole company.'),
})
