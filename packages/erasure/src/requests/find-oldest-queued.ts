import type { Pool } from 'pg'

/** When the oldest request that is not erased was made, Unix epoch ms; null without any. */
export async function findOldestQueued(pool: Pick<Pool, 'query'>): Promise<number | null> {
  const { rows } = await pool.query<{ oldest: string | null }>(
    `SELECT min(requested_at_ms) AS oldest FROM erasure_requests
     WHERE install_uuid IS NOT NULL AND requested_at_ms > erased_up_to_ms`,
  )
  return rows[0]?.oldest == null ? null : Number(rows[0].oldest)
}
