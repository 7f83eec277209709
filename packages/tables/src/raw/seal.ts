import type { Pool, PoolClient } from 'pg'
import { clock_ms, now_ms_above_seal } from './stamps.ts'

/** The promise to a reader of raw rows. */
export interface SealedRaw {
  /** All rows with a lesser `stored_at_ms` are in the tables, Unix epoch ms. */
  complete_until_ms: number
  /** Another one than before: the tables lost rows that readers may have. */
  epoch: string
}

/**
 * Promises that no row comes with a stamp below the present, but for batches at work. No later stamp is below it, so an
 * idle partition holds nothing back and nobody has to state its time (docs/raw.md#time-of-storing). Each statement is a
 * transaction of its own: a reader that stands still between them must hold no lock, for which each batch would wait.
 * `consumer` writes the rows; null for those of PostgreSQL itself.
 */
export const sealRaw = (pool: Pool, consumer: string | null): Promise<SealedRaw> =>
  seal(pool, 'SELECT min(one) AS least_ms FROM raw_stamps, unnest(open_ms) AS one WHERE consumer = $1', consumer)

/** The same for verdicts of receipts, whose stamps are those of an app. */
export const sealVerdicts = (pool: Pool, app_id: string): Promise<SealedRaw> =>
  seal(pool, 'SELECT open_ms AS least_ms FROM verdict_stamps WHERE app_id = $1', app_id)

/** `leastSql` reads the least stamp that is open. */
async function seal(pool: Pool, leastSql: string, of: string | null): Promise<SealedRaw> {
  // Waits for the stamps that are being given: the next statement sees all that are not above.
  const sealed = await pool.query<{ sealed_ms: string; epoch: string }>(
    `UPDATE raw_clock SET sealed_ms = greatest(sealed_ms, ${clock_ms}) RETURNING sealed_ms, epoch`,
  )
  const { sealed_ms, epoch } = sealed.rows[0]!
  const open = await pool.query<{ least_ms: string | null }>(leastSql, [of])
  const least_ms = open.rows[0]?.least_ms ?? null
  const next_ms = Number(sealed_ms) + 1
  return { complete_until_ms: least_ms === null ? next_ms : Math.min(next_ms, Number(least_ms)), epoch }
}

/** A stamp for rows of PostgreSQL itself, which become visible with this transaction. */
export async function stampTransaction(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ now_ms: string }>(now_ms_above_seal)
  return Number(rows[0]!.now_ms)
}
