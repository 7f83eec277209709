import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { hasEnded } from '@tributary/domain/people/session-rules'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import { recordAdminAction } from '../../companies/admin-audit.ts'
import { lockPeople } from '../memberships.ts'
import { requestOf } from '../own-account.ts'
import { endSessions, findSessionById, type OpenSession, proveSession, type Visitor } from '../sessions/sessions.ts'
import type { Identity, OidcSettings } from './identity-provider.ts'
import { checkedEmail, findIdentity, insertIdentity } from './oidc-sign-in.ts'
import type { OidcTransaction } from './oidc-transactions.ts'

interface Deps {
  pool: Pool
  now: () => number
}

/** Throws `password_needed` unless the password was given in this session: an identity is linked after that alone. */
export function mustHavePassword({ proven_by }: Pick<OpenSession, 'proven_by'>): void {
  if (proven_by === 'password') return
  throw new CodedError('password_needed', { message: 'Give the password: POST /admin/api/v1/me/confirm.' })
}

/**
 * Links the identity to the account of the session that began it, in place of one before of the same provider. Throws
 * `oidc_failed`, `oidc_email_refused`, and `oidc_taken` where another account has it.
 */
export function linkIdentity(
  { pool, now }: Deps,
  { session_id }: OidcTransaction,
  { identity, settings }: { identity: Identity; settings: OidcSettings },
  visitor: Visitor,
): Promise<void> {
  return inTransaction(pool, async (client) => {
    await lockPeople(client)
    const session = await getOpenSession(client, session_id, now())
    checkedEmail(identity, settings)
    const present = await findIdentity(client, identity)
    if (present?.person_id === session.person_id) return
    if (present !== null) throw new CodedError('oidc_taken', { message: 'Another account is linked to this identity.' })
    await insertIdentity(client, session.person_id, identity, now())
    const entry = { action: 'person.link', subject: session.person_id, detail: { issuer: identity.issuer } }
    await recordAdminAction(client, requestOf(session, visitor, now()), entry)
  })
}

/** Unlinks each identity of the person of a session, and ends their other sessions. Their password is known to be set: it was given a moment ago. */
export function unlinkIdentities({ pool, now }: Deps, session: OpenSession, visitor: Visitor): Promise<void> {
  return inTransaction(pool, async (client) => {
    await lockPeople(client)
    const { rowCount } = await client.query('DELETE FROM identities WHERE person_id = $1', [session.person_id])
    if (rowCount === 0) return
    await endSessions(client, session.person_id, session.session_id) // some may have begun by the identity
    const entry = { action: 'person.unlink', subject: session.person_id, detail: {} }
    await recordAdminAction(client, requestOf(session, visitor, now()), entry)
  })
}

/** Notes that the person of a session has proven to be there since it was asked. Throws `oidc_failed`. */
export function confirmByOidc(
  { pool, now }: Deps,
  { session_id, began_at_ms }: OidcTransaction,
  identity: Identity,
): Promise<void> {
  return inTransaction(pool, async (client) => {
    await lockPeople(client)
    const session = await getOpenSession(client, session_id, now())
    const present = await findIdentity(client, identity)
    if (present?.person_id !== session.person_id) throw failed('This identity is not linked to the account.')
    // `auth_time` is in seconds, by the provider's clock.
    if ((identity.auth_time_ms ?? 0) < began_at_ms - limits.clocks_differ_ms_max)
      throw failed('The identity provider did not ask for a new proof.')
    await proveSession(client, session.session_id, { proven_by: 'oidc', proven_at_ms: now() })
  })
}

async function getOpenSession(client: PoolClient, session_id: string | null, now_ms: number): Promise<OpenSession> {
  const session = await findSessionById(client, session_id ?? '', now_ms)
  if (session === null || !session.complete || hasEnded(session, now_ms))
    throw failed('The session that began it has ended.')
  return session
}

const failed = (message: string) => new CodedError('oidc_failed', { message })
