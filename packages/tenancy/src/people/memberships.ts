import type { InvitePerson } from '@tributary/contracts/admin/people/people'
import type { Membership, Role } from '@tributary/contracts/admin/people/roles'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { PoolClient } from 'pg'

type Client = Pick<PoolClient, 'query'>

/** Any number does, as long as nobody else locks with it. */
const people_lock = 7_361_204_158_016

/**
 * Changes of roles, of passwords and of links come one after the other: two owners that remove each other would leave none, and
 * the second of two links would not replace the first.
 */
export const lockPeople = (client: Client) => client.query('SELECT pg_advisory_xact_lock($1)', [people_lock])

/** A role as a request gives it. */
export const membershipOf = ({ role, company_id, app_ids }: Omit<InvitePerson, 'email'>): Membership => ({
  ...{ role, company_id: company_id ?? null, apps: app_ids ?? null },
})

/** Whoever has this email in any case of its letters. */
export const emailKey = (email: string): string => email.normalize('NFKC').toLowerCase()

/**
 * SQL: whether a role of the table with this alias counts at a time (Unix epoch ms). One by a claim holds for a while after the last
 * sign-in that gave it, so that nobody keeps by an open session, or by a password, what the identity provider took away.
 */
export const holdsSql = (alias: string, at_ms: string): string =>
  `(NOT ${alias}.by_claim OR ${alias}.claimed_at > to_timestamp((${at_ms}::float8 - ${limits.claimed_role_ms}) / 1000.0))`

export async function findMembership(
  client: Client,
  person_id: string,
  company_id: string | null,
): Promise<Membership | null> {
  const { rows } = await client.query<Membership>(
    `SELECT role, company_id, apps FROM memberships WHERE person_id = $1 AND company_id IS NOT DISTINCT FROM $2`,
    [person_id, company_id],
  )
  return rows[0] ?? null
}

/** Gives a person a role in a company, in place of the one there; `by_claim`: the identity provider gives it. Throws `last_of_role` where it would be missed. */
export async function setMembership(
  client: Client,
  person_id: string,
  { role, company_id, apps }: Membership,
  now_ms: number,
  by_claim = false,
): Promise<void> {
  await mustBeSpared(client, person_id, { company_id, next: role, now_ms })
  await client.query(
    `INSERT INTO memberships (person_id, company_id, role, apps, created_at, by_claim, claimed_at)
     VALUES ($1, $2, $3, $4, to_timestamp($5 / 1000.0), $6, to_timestamp($5 / 1000.0))
     ON CONFLICT (person_id, coalesce(company_id, ''))
       DO UPDATE SET role = excluded.role, apps = excluded.apps, by_claim = excluded.by_claim,
         claimed_at = excluded.claimed_at`,
    [person_id, company_id, role, apps, now_ms, by_claim],
  )
}

/**
 * Takes a role away, with the open invitations of the person. An account without any other role is deleted, with the links that would
 * set its password. Throws `last_of_role`.
 */
export async function removeMembership(
  client: Client,
  person_id: string,
  company_id: string | null,
  now_ms: number,
): Promise<void> {
  await mustBeSpared(client, person_id, { company_id, next: null, now_ms })
  await removeInvitationsBy(client, person_id)
  await client.query('DELETE FROM memberships WHERE person_id = $1 AND company_id IS NOT DISTINCT FROM $2', [
    person_id,
    company_id,
  ])
  const { rows } = await client.query<{ email_key: string }>(
    `DELETE FROM people p WHERE person_id = $1
       AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.person_id = p.person_id) RETURNING email_key`,
    [person_id],
  )
  for (const { email_key } of rows) await removeResets(client, email_key)
}

/** Removes the open invitations that a person made: whoever loses the right to invite must not come back by them. */
export async function removeInvitationsBy(client: Client, person_id: string): Promise<void> {
  await client.query(`DELETE FROM one_time_links WHERE kind = 'invitation' AND invited_by = $1`, [person_id])
}

/** Removes the open resets of an email: they would open another account of the same email later. */
export async function removeResets(client: Client, email_key: string): Promise<void> {
  await client.query(`DELETE FROM one_time_links WHERE kind = 'reset' AND email_key = $1`, [email_key])
}

const protectedRoles: readonly Role[] = ['owner', 'operator']

/** The last owner of a company and the last operator stay what they are. */
async function mustBeSpared(
  client: Client,
  person_id: string,
  { company_id, next, now_ms }: { company_id: string | null; next: Role | null; now_ms: number },
): Promise<void> {
  const held = await findMembership(client, person_id, company_id)
  if (held === null || held.role === next || !protectedRoles.includes(held.role)) return
  const { rowCount } = await client.query(
    `SELECT 1 FROM memberships m WHERE m.role = $1 AND m.company_id IS NOT DISTINCT FROM $2 AND m.person_id <> $3
       AND ${holdsSql('m', '$4')} LIMIT 1`,
    [held.role, company_id, person_id, now_ms],
  )
  if (rowCount === 0) throw new CodedError('last_of_role', { message: `This is the last ${held.role}.` })
}

/** Throws `invalid_field` for a role that cannot be so, `unknown_company`, and `unknown_app` for one of another company. */
export async function mustBeMembership(client: Client, { role, company_id, apps }: Membership): Promise<void> {
  const wrong = (field: string, message: string) => new CodedError('invalid_field', { field, message })
  if (role === 'operator' && company_id !== null) throw wrong('company_id', 'An operator stands above companies.')
  if (role !== 'operator' && company_id === null) throw wrong('company_id', `Name the company of the ${role}.`)
  if (apps !== null && protectedRoles.includes(role)) throw wrong('app_ids', `An ${role} is not limited to apps.`)
  if (company_id === null) return
  const { rows } = await client.query<{ apps: string[] }>(
    `SELECT ARRAY(SELECT app_id FROM apps a WHERE a.company_id = c.company_id AND app_id = ANY($2::text[])) AS apps
     FROM companies c WHERE company_id = $1`,
    [company_id, apps ?? []],
  )
  if (rows[0] === undefined) throw new CodedError('unknown_company', { field: 'company_id' })
  const known = new Set(rows[0].apps)
  if (apps?.some((app_id) => !known.has(app_id))) throw new CodedError('unknown_app', { field: 'app_ids' })
}
