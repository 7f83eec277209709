import type { ChangePerson, Person, PersonStatus } from '@tributary/contracts/admin/people/people'
import type { Membership } from '@tributary/contracts/admin/people/roles'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import { type AdminRequest, recordAdminAction } from '../companies/admin-audit.ts'
import { getCompany } from '../companies/tenants.ts'
import {
  emailKey,
  findMembership,
  lockPeople,
  membershipOf,
  mustBeMembership,
  removeInvitationsBy,
  removeMembership,
  setMembership,
} from './memberships.ts'
import { removeInvitations } from './one-time-links.ts'

const ms = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`

/** The people of a company, or all with their roles, and open invitations; by email. */
export async function listPeople(pool: Pool, company_id: string | undefined, now_ms: number): Promise<Person[]> {
  if (company_id !== undefined) await getCompany(pool, company_id)
  const { rows } = await pool.query<Person>(
    `SELECT p.person_id, p.email, 'active' AS status, m.role, m.company_id, m.apps,
       EXISTS (SELECT 1 FROM totp_secrets t WHERE t.person_id = p.person_id) AS second_factor,
       (SELECT max(${ms('s.seen_at')}) FROM sessions s WHERE s.person_id = p.person_id AND s.complete
          AND s.seen_at > to_timestamp($3 / 1000.0)) AS last_seen_at_ms,
       ${ms('m.created_at')} AS created_at_ms
     FROM people p JOIN memberships m USING (person_id) WHERE $1::text IS NULL OR m.company_id = $1
     UNION ALL
     SELECT '', l.email, 'invited', l.role, l.company_id, l.apps, false, NULL, ${ms('l.created_at')}
     FROM one_time_links l WHERE l.kind = 'invitation' AND l.expires_at > to_timestamp($2 / 1000.0)
       AND ($1::text IS NULL OR l.company_id = $1)
     ORDER BY email, company_id NULLS FIRST, status`,
    [company_id ?? null, now_ms, now_ms - limits.session_idle_ms_max],
  )
  return rows
}

/** Changes the role of a person in a company, or its apps. Throws `unknown_person` and `last_of_role`. */
export function changePerson(pool: Pool, input: ChangePerson, request: AdminRequest): Promise<PersonStatus> {
  const next = membershipOf(input)
  return inTransaction(pool, async (client) => {
    await lockPeople(client)
    await mustBeMembership(client, next)
    const { person_id, email, held } = await getMember(client, input.email, next.company_id)
    await setMembership(client, person_id, next, request.now_ms)
    await removeInvitationsBy(client, person_id)
    const { company_id } = next
    await recordAdminAction(client, request, {
      ...{ action: 'person.change', subject: person_id, company_id },
      ...{ before: { email, role: held.role, apps: held.apps }, detail: { email, role: next.role, apps: next.apps } },
    })
    return { email, status: 'changed' }
  })
}

/** Takes the role of a person in a company away, or that of an operator, with open invitations. Throws `last_of_role`. */
export function removePerson(
  pool: Pool,
  input: { email: string; company_id?: string | undefined },
  request: AdminRequest,
): Promise<PersonStatus> {
  const company_id = input.company_id ?? null
  return inTransaction(pool, async (client) => {
    await lockPeople(client)
    if (company_id !== null) await getCompany(client, company_id)
    const invited = await removeInvitations(client, emailKey(input.email), company_id)
    const member = await findMember(client, input.email, company_id)
    if (member === null && !invited) throw new CodedError('unknown_person')
    const { email, person_id: subject, held } = member ?? { email: input.email, person_id: 'invitation', held: null }
    if (member !== null) await removeMembership(client, member.person_id, company_id, request.now_ms)
    await recordAdminAction(client, request, {
      ...{ action: 'person.remove', subject, company_id, detail: { email } },
      ...(held === null ? {} : { before: { email, role: held.role, apps: held.apps } }),
    })
    return { email, status: 'removed' }
  })
}

interface Member {
  person_id: string
  email: string
  held: Membership
}

async function findMember(client: PoolClient, email: string, company_id: string | null): Promise<Member | null> {
  const { rows } = await client.query<Omit<Member, 'held'>>(
    'SELECT person_id, email FROM people WHERE email_key = $1 FOR UPDATE',
    [emailKey(email)],
  )
  if (rows[0] === undefined) return null
  const held = await findMembership(client, rows[0].person_id, company_id)
  return held === null ? null : { ...rows[0], held }
}

async function getMember(client: PoolClient, email: string, company_id: string | null): Promise<Member> {
  const member = await findMember(client, email, company_id)
  if (member === null) throw new CodedError('unknown_person')
  return member
}
