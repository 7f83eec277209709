import type { InvitePerson } from '@tributary/contracts/admin/people/people'
import type { Membership } from '@tributary/contracts/admin/people/roles'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import { type AdminRequest, recordAdminAction } from '../companies/admin-audit.ts'
import { getCompany } from '../companies/tenants.ts'
import { emailKey, lockPeople, membershipOf, mustBeMembership, removeResets } from './memberships.ts'
import { makeToken, tokenHash } from './random-token.ts'

type Client = Pick<PoolClient, 'query'>

/** A link that was made: its secret leaves in this answer only, the table holds its SHA-256. */
export interface OneTimeLink {
  token: string
  expires_at_ms: number
}

export interface StoredLink extends Omit<Membership, 'role'> {
  kind: 'invitation' | 'first' | 'reset'
  /** Null for the first person of an installation, who names an own one. */
  email: string | null
  role: Membership['role'] | null
  second_factor: boolean
  /** Of an invitation by a person: theirs end with a role of theirs. */
  invited_by?: string | undefined
}

/**
 * Gives a link to whom it is for, before it counts: if that fails, the link before stays good. A link that is given and never counts
 * opens nothing.
 */
export type Deliver<About> = (token: string, about: About) => Promise<void>

/** Invites an email to a role, in place of an invitation to the same company. Throws as `mustBeMembership`. */
export async function invitePerson(
  pool: Pool,
  { email, ...given }: InvitePerson,
  request: AdminRequest,
  deliver?: Deliver<{ email: string; role: string; company_name: string | null }>,
): Promise<OneTimeLink> {
  const membership = membershipOf(given)
  const { role, company_id } = membership
  const token = makeToken('inv')
  if (deliver !== undefined) {
    await mustBeMembership(pool, membership)
    const company_name = company_id === null ? null : (await getCompany(pool, company_id)).name
    await deliver(token, { email, role, company_name })
  }
  return inTransaction(pool, async (client) => {
    await lockPeople(client)
    await mustBeMembership(client, membership)
    await removeInvitations(client, emailKey(email), membership.company_id)
    const link = await insertLink(
      client,
      { ...membership, kind: 'invitation', email, second_factor: false, invited_by: request.person_id },
      request.now_ms,
      token,
    )
    const detail = { email, role, apps: membership.apps }
    const entry = { action: 'person.invite', subject: email, company_id: membership.company_id, detail }
    await recordAdminAction(client, request, entry)
    return link
  })
}

/** Makes a link by which a person sets a new password, in place of one before. Throws `unknown_person`. */
export async function makeReset(
  pool: Pool,
  { email, second_factor }: { email: string; second_factor: boolean },
  request: AdminRequest,
  deliver?: Deliver<{ email: string }>,
): Promise<OneTimeLink> {
  const token = makeToken('rst')
  if (deliver !== undefined) await deliver(token, await getPerson(pool, email))
  return inTransaction(pool, async (client) => {
    await lockPeople(client)
    const person = await getPerson(client, email)
    await removeResets(client, emailKey(email))
    const reset = {
      kind: 'reset',
      email: person.email,
      role: null,
      company_id: null,
      apps: null,
      second_factor,
    } as const
    const link = await insertLink(client, reset, request.now_ms, token)
    const detail = { email: person.email, second_factor }
    await recordAdminAction(client, request, { action: 'person.reset', subject: person.person_id, detail })
    return link
  })
}

/**
 * Makes the link for the first person of an installation, who becomes operator, and owner of this company. The link before
 * ends. Null once there is an operator.
 */
export function makeFirstLink(pool: Pool, company_id: string | null, now_ms: number): Promise<OneTimeLink | null> {
  return inTransaction(pool, async (client) => {
    await client.query(`DELETE FROM one_time_links WHERE kind = 'first'`)
    if (await hasOperator(client)) return null
    const first = {
      kind: 'first',
      email: null,
      role: 'operator',
      company_id,
      apps: null,
      second_factor: false,
    } as const
    return insertLink(client, first, now_ms, makeToken('inv'))
  })
}

export async function hasOperator(client: Client): Promise<boolean> {
  const { rowCount } = await client.query(`SELECT 1 FROM memberships WHERE role = 'operator' LIMIT 1`)
  return rowCount === 1
}

async function getPerson(client: Client, email: string): Promise<{ person_id: string; email: string }> {
  const { rows } = await client.query<{ person_id: string; email: string }>(
    'SELECT person_id, email FROM people WHERE email_key = $1',
    [emailKey(email)],
  )
  if (rows[0] === undefined) throw new CodedError('unknown_person')
  return rows[0]
}

async function insertLink(client: Client, link: StoredLink, now_ms: number, token: string): Promise<OneTimeLink> {
  const expires_at_ms = now_ms + limits.one_time_link_ms
  const { kind, email, role, company_id, apps, second_factor, invited_by } = link
  await client.query(
    `INSERT INTO one_time_links (link_hash, kind, email, email_key, role, company_id, apps, second_factor, invited_by,
       created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, to_timestamp($10 / 1000.0), to_timestamp($11 / 1000.0))`,
    [
      ...[tokenHash(token), kind, email, email === null ? null : emailKey(email), role, company_id, apps],
      ...[second_factor, invited_by ?? null, now_ms, expires_at_ms],
    ],
  )
  return { token, expires_at_ms }
}

/** The link of a secret. Throws `unknown_one_time_link` for one that was used, is too old or of another kind. */
export async function getLink(
  client: Client,
  token: string,
  kinds: readonly StoredLink['kind'][],
  now_ms: number,
): Promise<StoredLink> {
  const { rows } = await client.query<StoredLink>(
    `SELECT kind, email, role, company_id, apps, second_factor FROM one_time_links
     WHERE link_hash = $1 AND kind = ANY($2::text[]) AND expires_at > to_timestamp($3 / 1000.0)`,
    [tokenHash(token), kinds, now_ms],
  )
  if (rows[0] === undefined) throw new CodedError('unknown_one_time_link')
  return rows[0]
}

/** Uses a link up. Throws `unknown_one_time_link` where another request was first. */
export async function useLink(client: Client, token: string): Promise<void> {
  const { rowCount } = await client.query('DELETE FROM one_time_links WHERE link_hash = $1', [tokenHash(token)])
  if (rowCount === 0) throw new CodedError('unknown_one_time_link')
}

/** Uses up the open invitations of an email, and returns their roles. */
export async function takeInvitations(client: Client, email_key: string, now_ms: number): Promise<Membership[]> {
  const { rows } = await client.query<Membership>(
    `DELETE FROM one_time_links WHERE kind = 'invitation' AND email_key = $1 AND expires_at > to_timestamp($2 / 1000.0)
     RETURNING role, company_id, apps`,
    [email_key, now_ms],
  )
  return rows
}

/** Removes the open invitations of an email to a company, or to be an operator; false where there were none. */
export async function removeInvitations(
  client: Client,
  email_key: string,
  company_id: string | null,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `DELETE FROM one_time_links WHERE kind = 'invitation' AND email_key = $1 AND company_id IS NOT DISTINCT FROM $2`,
    [email_key, company_id],
  )
  return (rowCount ?? 0) > 0
}
