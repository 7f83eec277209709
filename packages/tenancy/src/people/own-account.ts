import type { Me } from '@tributary/contracts/admin/people/own-account'
import { CodedError } from '@tributary/contracts/errors'
import { addressBlock } from '@tributary/contracts/networks'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool } from 'pg'
import { type AdminRequest, recordAdminAction } from '../companies/admin-audit.ts'
import type { MasterKeys } from '../secrets/master-keys.ts'
import { emailKey, lockPeople, removeResets } from './memberships.ts'
import { refuseCommonPassword } from './passwords/common-passwords.ts'
import { confirmTotp, offerTotp, removeSecondFactor } from './second-factor/second-factor.ts'
import { totpUri } from './second-factor/totp.ts'
import { endSessions, type OpenSession, proveSession, type Visitor } from './sessions/sessions.ts'
import { checkOwnPassword, type SignInDeps, wrongPassword } from './sign-in.ts'

/** What the panel shows of the person who is signed in. */
export async function findMe(
  pool: Pool,
  { person_id, memberships }: OpenSession,
): Promise<Pick<Me, 'memberships' | 'second_factor' | 'recovery_codes_left' | 'password' | 'oidc'>> {
  const companies = memberships.flatMap(({ company_id }) => company_id ?? [])
  const { rows } = await pool.query(
    `SELECT EXISTS (SELECT 1 FROM totp_secrets WHERE person_id = $1) AS second_factor,
       EXISTS (SELECT 1 FROM people WHERE person_id = $1 AND password IS NOT NULL) AS password,
       EXISTS (SELECT 1 FROM identities WHERE person_id = $1) AS oidc,
       (SELECT count(*)::int FROM recovery_codes WHERE person_id = $1) AS recovery_codes_left,
       (SELECT coalesce(json_object_agg(company_id, name), '{}') FROM companies WHERE company_id = ANY($2::text[])) AS names`,
    [person_id, companies],
  )
  const { names, ...rest } = rows[0] as { names: Record<string, string> } & Omit<Me, 'memberships'>
  return {
    ...rest,
    memberships: memberships.map(({ role, company_id, apps }) => ({
      ...{ role, company_id, apps: apps === null ? null : [...apps] },
      company_name: company_id === null ? null : (names[company_id] ?? null),
    })),
  }
}

/** Takes the password again, so that keys are minted for a while. Throws `sign_in_failed`. */
export async function confirmPassword(
  deps: SignInDeps,
  session: OpenSession,
  password: string,
  visitor: Visitor,
): Promise<void> {
  await checkOwnPassword(deps, session, password, visitor)
  await proveSession(deps.pool, session.session_id, { proven_by: 'password', proven_at_ms: deps.now() })
}

/** Changes the password, ends every other session and unlinks identities, as a reset does. Throws `sign_in_failed` and `invalid_field`. */
export async function changePassword(
  deps: SignInDeps,
  session: OpenSession,
  { password, new_password }: { password: string; new_password: string },
  visitor: Visitor,
): Promise<void> {
  const { person_id, session_id, email } = session
  const present = await checkOwnPassword(deps, session, password, visitor)
  await refuseCommonPassword(new_password, email, 'new_password')
  const hash = await deps.passwords.hash(new_password, addressBlock(visitor.ip))
  await inTransaction(deps.pool, async (client) => {
    await lockPeople(client)
    await removeResets(client, emailKey(email))
    const { rowCount } = await client.query('UPDATE people SET password = $2 WHERE person_id = $1 AND password = $3', [
      person_id,
      hash,
      present,
    ])
    if (rowCount === 0) throw wrongPassword() // a reset came in between
    await endSessions(client, person_id, session_id)
    await client.query('DELETE FROM known_browsers WHERE person_id = $1', [person_id])
    await client.query('DELETE FROM identities WHERE person_id = $1', [person_id])
    await proveSession(client, session_id, { proven_by: 'password', proven_at_ms: deps.now() })
    const entry = { action: 'person.password', subject: person_id, detail: { by: 'password' } }
    await recordAdminAction(client, requestOf(session, visitor, deps.now()), entry)
  })
}

/** A secret for an authenticator, which counts once a code confirmed it. */
export async function offerSecondFactor(
  { pool, masterKeys }: { pool: Pool; masterKeys: MasterKeys },
  { person_id, email }: OpenSession,
): Promise<{ secret: string; uri: string }> {
  const secret = await offerTotp(pool, masterKeys, person_id)
  return { secret, uri: totpUri(secret, email) }
}

/** Puts the offered secret to use, and returns recovery codes. Throws `wrong_code`. */
export async function confirmSecondFactor(
  { pool, masterKeys, guesses, now }: Omit<SignInDeps, 'passwords'>,
  session: OpenSession,
  code: string,
  visitor: Visitor,
): Promise<string[]> {
  const pair = `totp ${session.session_id}`
  guesses.spend(pair)
  const { person_id } = session
  const codes = await inTransaction(pool, async (client) => {
    const made = await confirmTotp(client, masterKeys, { person_id, code, now_ms: now() })
    if (made === null) throw new CodedError('wrong_code')
    const entry = { action: 'person.second_factor', subject: person_id, detail: { on: true } }
    await recordAdminAction(client, requestOf(session, visitor, now()), entry)
    return made
  })
  guesses.forgive(pair)
  return codes
}

/** Removes the second factor; nothing is logged where there was none. */
export function disableSecondFactor(pool: Pool, session: OpenSession, visitor: Visitor, now_ms: number): Promise<void> {
  const { person_id: subject } = session
  return inTransaction(pool, async (client) => {
    if (!(await removeSecondFactor(client, subject))) return
    const entry = { action: 'person.second_factor', subject, before: { on: true }, detail: { on: false } }
    await recordAdminAction(client, requestOf(session, visitor, now_ms), entry)
  })
}

export const requestOf = (
  { person_id, email: actor }: OpenSession,
  { ip, request_id }: Visitor,
  now_ms: number,
): AdminRequest => ({ actor, person_id, ip, request_id, now_ms })
