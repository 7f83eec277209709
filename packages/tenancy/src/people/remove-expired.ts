import { day_ms, limits } from '@tributary/contracts/limits'
import type { Pool } from 'pg'

/** Rows of each statement: it holds its locks for a moment. */
const rows_max = 1000

/** Deletes what counts no more: ended sessions, links and browsers too old, and entries of the audit log after two years. */
export async function removeExpired(pool: Pool, now_ms: number): Promise<void> {
  const { session_idle_ms_max, session_ms_max, session_pending_ms_max, known_browser_ms_max, audit_log_days } = limits
  await remove(pool, 'sessions', 'session_hash', 'seen_at', now_ms - session_idle_ms_max)
  await remove(pool, 'sessions', 'session_hash', 'began_at', now_ms - session_ms_max)
  await remove(pool, 'sessions', 'session_hash', 'began_at', now_ms - session_pending_ms_max, 'NOT complete')
  await remove(pool, 'one_time_links', 'link_hash', 'expires_at', now_ms)
  await remove(pool, 'known_browsers', 'browser_hash', 'seen_at', now_ms - known_browser_ms_max)
  await remove(pool, 'admin_audit_log', 'id', 'at', now_ms - audit_log_days * day_ms)
}

/** Ends the roles that claims gave: no claim is read any more. */
export async function endClaimedRoles(pool: Pool): Promise<void> {
  await pool.query(
    'UPDATE memberships SET claimed_at = to_timestamp(0) WHERE by_claim AND claimed_at > to_timestamp(0)',
  )
}

async function remove(
  pool: Pool,
  table: string,
  id: string,
  column: string,
  before_ms: number,
  and = 'true',
): Promise<void> {
  const old = `SELECT ${id} FROM ${table} WHERE ${column} <= to_timestamp($1 / 1000.0) AND ${and} LIMIT ${rows_max}`
  for (;;) {
    const { rowCount } = await pool.query(`DELETE FROM ${table} WHERE ${id} IN (${old})`, [before_ms])
    if ((rowCount ?? 0) < rows_max) return
  }
}
