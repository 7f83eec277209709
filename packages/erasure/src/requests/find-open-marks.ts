import type { Pool } from 'pg'

/** First mark of each app, Unix epoch ms, of erasures that still take rows from tables; others have no entry. */
export async function findOpenMarks(pool: Pick<Pool, 'query'>): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ app_id: string; mark_ms: string }>(
    `SELECT app_id, min(mark_ms) AS mark_ms FROM erasure_requests
     WHERE install_uuid IS NOT NULL AND mark_ms IS NOT NULL AND emptied_at_ms IS NULL GROUP BY app_id`,
  )
  return new Map(rows.map(({ app_id, mark_ms }) => [app_id, Number(mark_ms)]))
}
