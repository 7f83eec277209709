import type { Session } from '@tributary/contracts/admin/people/own-account'
import type { Membership } from '@tributary/contracts/admin/people/roles'
import { limits } from '@tributary/contracts/limits'
import type { SessionTimes } from '@tributary/domain/people/session-rules'
import type { Pool, PoolClient } from 'pg'
import { holdsSql } from '../memberships.ts'
import { makeId, makeToken, tokenHash } from '../random-token.ts'

type Client = Pick<PoolClient, 'query'>

/** A session with all that a request needs of its person. */
export interface OpenSession extends SessionTimes {
  session_id: string
  person_id: string
  email: string
  memberships: Membership[]
  proven_by: Proof['proven_by']
}

/** How and when a person was proven. */
export interface Proof {
  proven_by: 'password' | 'oidc'
  proven_at_ms: number
}

/** Who sends a request. */
export interface Visitor {
  ip: string
  /** User-Agent. */
  agent: string
  request_id: string
  /** The token of a browser in which somebody has signed in. */
  browser: string | null
}

const epochMs = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`
const times = `${epochMs('s.began_at')} AS began_at_ms, ${epochMs('s.seen_at')} AS seen_at_ms`

/** A person who was proven while this was the stored hash of the password; null: there is none. */
export interface Proven extends Proof {
  person_id: string
  password: string | null
}

/**
 * Begins a session and returns its token, which the cookie alone holds; null where the person has another password by now:
 * whoever sets one ends all sessions, those that begin meanwhile too. The oldest of too many ends, but none that is complete for
 * one that is not.
 */
export async function beginSession(
  client: Client,
  { person_id, password, complete, proven_by, proven_at_ms }: Proven & { complete: boolean },
  { ip, agent }: Visitor,
  now_ms: number,
): Promise<string | null> {
  const token = makeToken('ses')
  const { rowCount } = await client.query(
    `INSERT INTO sessions (session_hash, session_id, person_id, complete, began_at, seen_at, proven_at, proven_by, ip, agent)
     SELECT $1, $2, p.person_id, $4, at, at, to_timestamp($9 / 1000.0), $10, $6, $7
     FROM people p, to_timestamp($5 / 1000.0) AS at
     WHERE p.person_id = $3 AND p.password IS NOT DISTINCT FROM $8 FOR SHARE OF p`,
    [
      ...[tokenHash(token), makeId('ses'), person_id, complete, now_ms, ip],
      ...[agent.slice(0, limits.stored_header_chars_max), password, proven_at_ms, proven_by],
    ],
  )
  if (rowCount === 0) return null
  await client.query(
    `DELETE FROM sessions WHERE person_id = $1 AND complete = $3 AND session_id NOT IN
       (SELECT session_id FROM sessions WHERE person_id = $1 AND complete = $3
        ORDER BY began_at DESC, session_id LIMIT $2)`,
    [person_id, limits.person_sessions_max, complete],
  )
  return token
}

/** The session of a token, ended ones too; null where there is none. */
export async function findSession(client: Client, session_hash: Buffer, now_ms: number): Promise<OpenSession | null> {
  return (await findSessions(client, [session_hash], now_ms)).get(session_hash.toString('base64')) ?? null
}

/** The sessions of these tokens by base64 of their hashes, ended ones too. Nothing notes that they are used. */
export async function findSessions(
  client: Client,
  session_hashes: readonly Buffer[],
  now_ms: number,
): Promise<Map<string, OpenSession>> {
  const rows = await findWhere(client, 's.session_hash = ANY($1)', session_hashes, now_ms)
  return new Map(rows.map(({ session_hash, ...session }) => [session_hash.toString('base64'), session]))
}

/** The session of an id, an ended one too; null where there is none. */
export async function findSessionById(client: Client, session_id: string, now_ms: number): Promise<OpenSession | null> {
  const [row] = await findWhere(client, 's.session_id = $1', session_id, now_ms)
  if (row === undefined) return null
  const { session_hash: _, ...session } = row
  return session
}

async function findWhere(client: Client, condition: string, value: readonly Buffer[] | string, now_ms: number) {
  const { rows } = await client.query<OpenSession & { session_hash: Buffer }>(
    `SELECT s.session_hash, s.session_id, s.person_id, p.email, s.complete, ${times}, ${epochMs('s.proven_at')} AS proven_at_ms, s.proven_by,
       ARRAY(SELECT json_build_object('role', m.role, 'company_id', m.company_id, 'apps', m.apps)
             FROM memberships m WHERE m.person_id = s.person_id AND ${holdsSql('m', '$2')} ORDER BY m.id) AS memberships
     FROM sessions s JOIN people p USING (person_id) WHERE ${condition}`,
    [value, now_ms],
  )
  return rows
}

/** Notes that a session was used; its last request is known to the minute. */
export async function touchSession(client: Client, session_hash: Buffer, now_ms: number): Promise<void> {
  await client.query(
    'UPDATE sessions SET seen_at = to_timestamp($2 / 1000.0) WHERE session_hash = $1 AND seen_at < to_timestamp($2 / 1000.0)',
    [session_hash, now_ms],
  )
}

/** Counts one more try of the second factor, and returns their number; null where the session is gone. */
export async function countAttempt(client: Client, session_id: string): Promise<number | null> {
  const { rows } = await client.query<{ attempts: number }>(
    'UPDATE sessions SET attempts = attempts + 1 WHERE session_id = $1 RETURNING attempts',
    [session_id],
  )
  return rows[0]?.attempts ?? null
}

/** The open sessions of a person, the newest first. */
export async function listSessions(pool: Pool, own: OpenSession, now_ms: number): Promise<Session[]> {
  const { rows } = await pool.query<Omit<Session, 'current'>>(
    `SELECT s.session_id, ${times}, s.ip, s.agent FROM sessions s
     WHERE s.person_id = $1 AND s.complete AND s.seen_at > to_timestamp($2 / 1000.0)
       AND s.began_at > to_timestamp($3 / 1000.0)
     ORDER BY s.began_at DESC, s.session_id`,
    [own.person_id, now_ms - limits.session_idle_ms_max, now_ms - limits.session_ms_max],
  )
  return rows.map((row) => ({ ...row, current: row.session_id === own.session_id }))
}

/** Ends a session of a person; false where they have none of this id. */
export async function endSession(client: Client, person_id: string, session_id: string): Promise<boolean> {
  const { rowCount } = await client.query('DELETE FROM sessions WHERE person_id = $1 AND session_id = $2', [
    person_id,
    session_id,
  ])
  return rowCount === 1
}

/** Ends the sessions of a person; one may stay. */
export async function endSessions(client: Client, person_id: string, but = ''): Promise<void> {
  await client.query('DELETE FROM sessions WHERE person_id = $1 AND session_id <> $2', [person_id, but])
}

/** Keys are minted without another proof for a while from now on; false where the session is gone. */
export async function proveSession(
  client: Client,
  session_id: string,
  { proven_by, proven_at_ms }: Proof,
): Promise<boolean> {
  const { rowCount } = await client.query(
    'UPDATE sessions SET proven_at = to_timestamp($2 / 1000.0), proven_by = $3 WHERE session_id = $1',
    [session_id, proven_at_ms, proven_by],
  )
  return rowCount === 1
}
