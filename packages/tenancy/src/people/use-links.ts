import type { Accepted } from '@tributary/contracts/admin/people/sign-in'
import { CodedError } from '@tributary/contracts/errors'
import { addressBlock } from '@tributary/contracts/networks'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import { type AdminRequest, recordAdminAction } from '../companies/admin-audit.ts'
import { emailKey, lockPeople, setMembership } from './memberships.ts'
import { getLink, hasOperator, type StoredLink, useLink } from './one-time-links.ts'
import { refuseCommonPassword } from './passwords/common-passwords.ts'
import type { Passwords } from './passwords/password-hash.ts'
import { makeId } from './random-token.ts'
import { removeSecondFactor } from './second-factor/second-factor.ts'
import { endSessions, type OpenSession, type Visitor } from './sessions/sessions.ts'

export interface LinkDeps {
  pool: Pool
  passwords: Passwords
  now: () => number
}

interface Accepting {
  token: string
  email?: string | undefined
  password?: string | undefined
}

/**
 * Accepts an invitation. Where the account exists its own session must be open: the link adds a role and never sets a
 * password. Otherwise it makes the account with the given one. Throws `unknown_one_time_link`, and `sign_in_required`,
 * after which the link stays good.
 */
export async function acceptInvitation(
  { pool, passwords, now }: LinkDeps,
  given: Accepting,
  session: OpenSession | null,
  visitor: Visitor,
): Promise<Accepted> {
  const link = await getLink(pool, given.token, ['invitation', 'first'], now())
  if (link.kind === 'first' && (await hasOperator(pool))) throw new CodedError('unknown_one_time_link')
  const email = link.email ?? given.email
  if (email === undefined) throw missing('email')
  const present = await findPerson(pool, email)
  if (present !== null) {
    if (session?.person_id !== present.person_id) throw signInFirst()
    await inTransaction(pool, (client) =>
      takeRole(client, { ...given, link, person: present }, requestOf(present, visitor, now())),
    )
    return { email: present.email, next: 'done' }
  }
  if (given.password === undefined) throw missing('password')
  await refuseCommonPassword(given.password, email, 'password')
  const password = await passwords.hash(given.password, addressBlock(visitor.ip))
  const person = { person_id: makeId('per'), email }
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `INSERT INTO people (person_id, email, email_key, password, created_at)
       VALUES ($1, $2, $3, $4, to_timestamp($5 / 1000.0)) ON CONFLICT (email_key) DO NOTHING`,
      [person.person_id, email, emailKey(email), password, now()],
    )
    if (rowCount === 0) throw signInFirst() // another request made it meanwhile
    await takeRole(client, { ...given, link, person }, requestOf(person, visitor, now()))
  })
  return { email, next: 'sign_in' }
}

interface Person {
  person_id: string
  email: string
}

async function takeRole(
  client: PoolClient,
  { token, link, person }: { token: string; link: StoredLink; person: Person },
  request: AdminRequest,
): Promise<void> {
  await lockPeople(client)
  await useLink(client, token)
  if (link.kind === 'first' && (await hasOperator(client))) throw new CodedError('unknown_one_time_link')
  const { kind, role, company_id, apps } = link
  const taken =
    kind === 'first'
      ? [
          { role: 'operator' as const, company_id: null, apps: null },
          ...(company_id === null ? [] : [{ role: 'owner' as const, company_id, apps: null }]),
        ]
      : [{ role: role!, company_id, apps }]
  for (const membership of taken) {
    await setMembership(client, person.person_id, membership, request.now_ms)
    const detail = { email: person.email, role: membership.role, apps: membership.apps }
    const entry = { action: 'person.join', subject: person.person_id, company_id: membership.company_id, detail }
    await recordAdminAction(client, request, entry)
  }
}

/** Sets a new password by a reset link, ends every session of the person, and unlinks the identity provider. Throws `unknown_one_time_link`. */
export async function useReset(
  { pool, passwords, now }: LinkDeps,
  { token, password }: { token: string; password: string },
  visitor: Visitor,
): Promise<Accepted> {
  const link = await getLink(pool, token, ['reset'], now())
  const person = await findPerson(pool, link.email ?? '')
  if (person === null) throw new CodedError('unknown_one_time_link')
  await refuseCommonPassword(password, person.email, 'password')
  const hash = await passwords.hash(password, addressBlock(visitor.ip))
  await inTransaction(pool, async (client) => {
    await lockPeople(client)
    await useLink(client, token)
    await client.query('UPDATE people SET password = $2 WHERE person_id = $1', [person.person_id, hash])
    await endSessions(client, person.person_id)
    await client.query('DELETE FROM known_browsers WHERE person_id = $1', [person.person_id])
    // Whoever held the account may have linked an identity: it must not open the account any longer.
    await client.query('DELETE FROM identities WHERE person_id = $1', [person.person_id])
    if (link.second_factor) await removeSecondFactor(client, person.person_id)
    const detail = { by: 'reset', second_factor_removed: link.second_factor }
    const entry = { action: 'person.password', subject: person.person_id, detail }
    await recordAdminAction(client, requestOf(person, visitor, now()), entry)
  })
  return { email: person.email, next: 'sign_in' }
}

async function findPerson(pool: Pool, email: string): Promise<Person | null> {
  const { rows } = await pool.query<Person>('SELECT person_id, email FROM people WHERE email_key = $1', [
    emailKey(email),
  ])
  return rows[0] ?? null
}

const requestOf = ({ person_id, email: actor }: Person, { ip, request_id }: Visitor, now_ms: number): AdminRequest => ({
  ...{ actor, person_id, ip, request_id, now_ms },
})

const missing = (field: string) => new CodedError('invalid_field', { field, message: 'It is missing.' })
const signInFirst = () =>
  new CodedError('sign_in_required', { message: 'The account exists: sign in to it, then accept again.' })
