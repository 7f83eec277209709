import { email as emailSchema } from '@tributary/contracts/admin/people/people'
import type { Membership } from '@tributary/contracts/admin/people/roles'
import { CodedError } from '@tributary/contracts/errors'
import { claimedRoles } from '@tributary/domain/people/claimed-roles'
import { inTransaction } from '@tributary/postgres/transaction'
import type { PoolClient } from 'pg'
import { type AdminRequest, recordAdminAction } from '../../companies/admin-audit.ts'
import { emailKey, findMembership, lockPeople, removeMembership, setMembership } from '../memberships.ts'
import { takeInvitations } from '../one-time-links.ts'
import { makeId } from '../random-token.ts'
import type { Visitor } from '../sessions/sessions.ts'
import { type Account, accountById, beginProven, type NewSession, type SignInDeps } from '../sign-in.ts'
import type { Identity, OidcSettings } from './identity-provider.ts'

type Deps = Pick<SignInDeps, 'pool' | 'now'>

/**
 * Signs in the person of an identity. One that no account has makes an account, if the provider or an invitation gives it a role. Throws
 * `oidc_email_refused`, `oidc_not_linked` where another account has the email, and `oidc_no_role`.
 */
export async function signInByOidc(
  { pool, now }: Deps,
  identity: Identity,
  settings: OidcSettings,
  visitor: Visitor,
): Promise<NewSession> {
  const email = checkedEmail(identity, settings)
  const made = await inTransaction(pool, async (client) => {
    await lockPeople(client)
    const found = await findIdentity(client, identity)
    const request = requestOf(found, email, visitor, now())
    const person_id = found?.person_id ?? (await makePerson(client, identity, email, request))
    await followClaim(client, person_id, identity, { ...request, person_id })
    await removeWithoutRole(client, person_id)
    const account = await accountById(client, person_id, visitor, now())
    return account === null ? null : begin(client, account, identity, visitor, now())
  })
  if (made === null) throw noRole()
  return made
}

function begin(client: PoolClient, account: Account, { auth_time_ms }: Identity, visitor: Visitor, now_ms: number) {
  // A provider that does not say when the person was there proves nothing for what asks for a fresh proof.
  const proof = { proven_by: 'oidc', proven_at_ms: Math.min(auth_time_ms ?? 0, now_ms) } as const
  return beginProven(client, account, proof, visitor, now_ms)
}

/** The email that the provider verified; null without one, where none is demanded. Throws `oidc_email_refused`. */
export function checkedEmail({ email }: Identity, { allowed_domains }: OidcSettings): string | null {
  // A spelling that is another one's email by its Unicode form would open that one's invitation.
  const isPlain = email !== null && emailSchema.safeParse(email).success && email.normalize('NFKC') === email
  if (allowed_domains.length === 0) return isPlain ? email : null
  const domain = isPlain ? email.slice(email.lastIndexOf('@') + 1).toLowerCase() : ''
  if (!allowed_domains.includes(domain)) throw emailRefused('Its domain may not sign in, or the email is not verified.')
  return email
}

/** The person of an identity. */
export async function findIdentity(
  client: Pick<PoolClient, 'query'>,
  { issuer, subject }: Identity,
): Promise<{ person_id: string; email: string } | null> {
  const { rows } = await client.query<{ person_id: string; email: string }>(
    'SELECT person_id, email FROM identities JOIN people USING (person_id) WHERE issuer = $1 AND subject = $2',
    [issuer, subject],
  )
  return rows[0] ?? null
}

export async function insertIdentity(
  client: PoolClient,
  person_id: string,
  { issuer, subject }: Identity,
  now_ms: number,
): Promise<void> {
  await client.query('DELETE FROM identities WHERE person_id = $1 AND issuer = $2', [person_id, issuer])
  await client.query(
    'INSERT INTO identities (issuer, subject, person_id, linked_at) VALUES ($1, $2, $3, to_timestamp($4 / 1000.0))',
    [issuer, subject, person_id, now_ms],
  )
}

/** Makes an account without a password, with the roles of its open invitations. */
async function makePerson(
  client: PoolClient,
  identity: Identity,
  email: string | null,
  request: AdminRequest,
): Promise<string> {
  if (email === null) throw emailRefused('The identity provider has verified no email.')
  const person_id = makeId('per')
  const { rowCount } = await client.query(
    `INSERT INTO people (person_id, email, email_key, created_at) VALUES ($1, $2, $3, to_timestamp($4 / 1000.0))
     ON CONFLICT (email_key) DO NOTHING`,
    [person_id, email, emailKey(email), request.now_ms],
  )
  if (rowCount === 0)
    throw new CodedError('oidc_not_linked', {
      message: 'An account has this email: sign in with its password, then link it (POST /admin/api/v1/me/oidc).',
    })
  await insertIdentity(client, person_id, identity, request.now_ms)
  for (const membership of await takeInvitations(client, emailKey(email), request.now_ms))
    await join(client, person_id, membership, false, { ...request, person_id })
  return person_id
}

/**
 * Makes the roles that the provider gave those of its claim; without `TRIBUTARY_OIDC_ROLE_CLAIM` none. A role that people gave stays as it
 * is, and the last owner and the last operator stay too. Those that are held now hold for another while.
 */
async function followClaim(client: PoolClient, person_id: string, { role_claim }: Identity, request: AdminRequest) {
  const claimed = await known(client, claimedRoles(role_claim))
  const { rows: held } = await client.query<{ company_id: string | null }>(
    'SELECT company_id FROM memberships WHERE person_id = $1 AND by_claim',
    [person_id],
  )
  for (const membership of claimed) {
    const { company_id, role } = membership
    const before = await findMembership(client, person_id, company_id)
    const isByClaim = held.some((one) => one.company_id === company_id)
    if (before === null || (isByClaim && before.role !== role))
      await spared(() => join(client, person_id, membership, true, request))
  }
  for (const { company_id } of held) {
    if (claimed.some((one) => one.company_id === company_id)) continue
    const before = await findMembership(client, person_id, company_id)
    await spared(async () => {
      await removeMembership(client, person_id, company_id, request.now_ms)
      const entry = { action: 'person.remove', subject: person_id, company_id, detail: { by: 'oidc' } }
      await recordAdminAction(client, request, { ...entry, before: { role: before?.role } })
    })
  }
  await client.query(
    'UPDATE memberships SET claimed_at = to_timestamp($2 / 1000.0) WHERE person_id = $1 AND by_claim',
    [person_id, request.now_ms],
  )
}

/** What the last owner or operator would lose stays, and the sign-in goes on. */
const spared = (change: () => Promise<void>) =>
  change().catch((error: unknown) => {
    if (!(error instanceof CodedError && error.code === 'last_of_role')) throw error
  })

async function known(client: PoolClient, claimed: readonly Membership[]): Promise<Membership[]> {
  const { rows } = await client.query<{ company_id: string }>(
    'SELECT company_id FROM companies WHERE company_id = ANY($1::text[])',
    [claimed.flatMap(({ company_id }) => company_id ?? [])],
  )
  const companies = new Set(rows.map(({ company_id }) => company_id))
  return claimed.filter(({ company_id }) => company_id === null || companies.has(company_id))
}

async function join(
  client: PoolClient,
  person_id: string,
  membership: Membership,
  by_claim: boolean,
  request: AdminRequest,
): Promise<void> {
  await setMembership(client, person_id, membership, request.now_ms, by_claim)
  const { role, company_id, apps } = membership
  const detail = { email: request.actor, role, apps, by: by_claim ? 'oidc' : 'invitation' }
  await recordAdminAction(client, request, { action: 'person.join', subject: person_id, company_id, detail })
}

/** An account that has just been made, and has no role, goes again. */
const removeWithoutRole = (client: PoolClient, person_id: string) =>
  client.query(
    `DELETE FROM people p WHERE person_id = $1
       AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.person_id = p.person_id)`,
    [person_id],
  )

const requestOf = (
  found: { person_id: string; email: string } | null,
  email: string | null,
  { ip, request_id }: Visitor,
  now_ms: number,
): AdminRequest => ({
  ...{ actor: found?.email ?? email ?? '', ip, request_id, now_ms },
  ...(found === null ? {} : { person_id: found.person_id }),
})

const emailRefused = (message: string) => new CodedError('oidc_email_refused', { message })
const noRole = () =>
  new CodedError('oidc_no_role', { message: 'The identity provider gives no role here, and no invitation is open.' })
