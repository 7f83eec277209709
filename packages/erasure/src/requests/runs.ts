import type { ErasureRun } from '@tributary/contracts/admin/erasures'
import { limits } from '@tributary/contracts/limits'
import type { Pool } from 'pg'

/** Requests a run of the eraser and returns its number. Requests before that run has begun share it. */
export async function requestRun(pool: Pool, now_ms: number): Promise<number> {
  const open = await pool.query<{ run: string }>(
    'SELECT run FROM erasure_runs WHERE ended_at_ms IS NULL AND begun_at_ms IS NULL ORDER BY run DESC LIMIT 1',
  )
  if (open.rows[0] !== undefined) return Number(open.rows[0].run)
  const { rows } = await pool.query<{ run: string }>(
    'INSERT INTO erasure_runs (asked_at_ms) VALUES ($1) RETURNING run',
    [now_ms],
  )
  return Number(rows[0]!.run)
}

/** The nightly runs that lie in the future: a clock ahead requested them. */
export async function findRunsAhead(pool: Pool, now_ms: number): Promise<number[]> {
  const { rows } = await pool.query<{ run: string }>(
    'SELECT run FROM erasure_runs WHERE night IS NOT NULL AND asked_at_ms > $1',
    [now_ms + limits.clocks_apart_ms_max],
  )
  return rows.map(({ run }) => Number(run))
}

/** Requests the run of a night, a UTC date, once. Those of `ahead` count as not there. */
export async function requestNightlyRun(
  pool: Pool,
  night: string,
  { now_ms, ahead }: { now_ms: number; ahead: readonly number[] },
): Promise<void> {
  await pool.query('UPDATE erasure_runs SET night = NULL WHERE night = $1 AND run = ANY($2)', [night, ahead])
  await pool.query('INSERT INTO erasure_runs (night, asked_at_ms) VALUES ($1, $2) ON CONFLICT (night) DO NOTHING', [
    night,
    now_ms,
  ])
}

/** The work that a run has done until now; null without a run of this number. */
export async function findRun(pool: Pool, run: number): Promise<ErasureRun | null> {
  const { rows } = await pool.query<Pick<ErasureRun, 'rows' | 'batches'> & { ended: boolean; drained: string }>(
    'SELECT ended_at_ms IS NOT NULL AS ended, drained, rows, batches FROM erasure_runs WHERE run = $1',
    [run],
  )
  if (rows[0] === undefined) return null
  const { ended, drained, rows: taken, batches } = rows[0]
  return { run, done: ended, drained: Number(drained), rows: taken, batches }
}
