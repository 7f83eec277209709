import { limits } from '@tributary/contracts/limits'
import type { Pool } from 'pg'
import { clock_ms, now_ms_above_seal } from './stamps.ts'

/**
 * The time at which verdicts of an app count as stored, Unix epoch ms: above each one before. It holds back what is complete of the app until
 * it is ended. A stamp that is open is taken away by that: its writer was killed or has lost the lock, and its verdicts are stored again.
 */
export async function pinVerdicts(pool: Pick<Pool, 'query'>, app_id: string): Promise<number> {
  const { rows } = await pool.query<{ newest_ms: string }>({ name: 'pin_verdicts', text: pinSql, values: [app_id] })
  return Number(rows[0]!.newest_ms)
}

const pinSql = `
  WITH clock AS (${now_ms_above_seal})
  INSERT INTO verdict_stamps AS known (app_id, newest_ms, open_ms) SELECT $1, now_ms, now_ms FROM clock
  ON CONFLICT (app_id) DO UPDATE SET
    newest_ms = greatest(excluded.newest_ms, known.newest_ms + 1),
    open_ms = greatest(excluded.newest_ms, known.newest_ms + 1)
  RETURNING newest_ms`

/** Its verdicts are stored. Rejects when the stamp was taken away: a reader may have gone past it, and they have to be stored again. */
export async function endVerdicts(pool: Pick<Pool, 'query'>, app_id: string, stamp_ms: number): Promise<void> {
  const { rowCount } = await pool.query({
    name: 'end_verdicts',
    text: 'UPDATE verdict_stamps SET open_ms = NULL WHERE app_id = $1 AND open_ms = $2',
    values: [app_id, stamp_ms],
  })
  if (rowCount === 0) throw new Error('Another process stored verdicts of this app meanwhile.')
}

/**
 * Takes stamps away that are older than any try. A killed writer leaves one, and none follows when the receipts that it had are erased.
 */
export async function dropAbandonedVerdicts(pool: Pick<Pool, 'query'>): Promise<void> {
  await pool.query(
    `UPDATE verdict_stamps SET open_ms = NULL WHERE open_ms IS NOT NULL AND newest_ms < ${clock_ms} - 2 * $1::bigint`,
    [limits.receipt_lease_ms],
  )
}
