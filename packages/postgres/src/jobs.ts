import type { Pool } from 'pg'

/** Work that one service asks another for. */
export type JobKind = 'settle' | 'retention' | 'retention_plan'

/** How far the work has come. Times are Unix epoch ms. */
export interface JobState {
  begun: boolean
  /** The answer of the work, `{ error }` when it failed; null until it has ended. */
  outcome: object | null
}

/** Rows that ended before so long go when others are taken. */
export const kept_ms = 86_400_000

/** Asks for work and gives back its number. Whoever asks before it is begun shares it. */
export async function askJob(pool: Pool, kind: JobKind, now_ms: number): Promise<number> {
  const { rows } = await pool.query<{ number: string }>(
    `WITH open AS (
       SELECT number FROM jobs WHERE kind = $1 AND ended_at_ms IS NULL AND begun_at_ms IS NULL ORDER BY number LIMIT 1
     ), made AS (
       INSERT INTO jobs (kind, asked_at_ms) SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM open) RETURNING number
     )
     SELECT number FROM open UNION ALL SELECT number FROM made`,
    [kind, now_ms],
  )
  return Number(rows[0]!.number)
}

/** Null for a number that is not there. */
export async function findJob(pool: Pool, number: number): Promise<JobState | null> {
  const { rows } = await pool.query<JobState>(
    'SELECT begun_at_ms IS NOT NULL AS begun, outcome FROM jobs WHERE number = $1',
    [number],
  )
  return rows[0] ?? null
}

/** Work that ended before this one, and when. */
export interface EarlierJob {
  outcome: object
  ended_at_ms: number
}

interface JobWork {
  now: () => number
  stop: AbortSignal
  /** Gives back the outcome. `before`: the work of this kind that ended last. */
  work: (before: EarlierJob | null) => Promise<object>
}

/**
 * Does the oldest work of a kind that has not ended, and says whether there was any. One process at a time calls it. Work that
 * fails has ended: its reason is the outcome, and the call rejects with it. The next call begins work once more that a crash or
 * the end of the process broke off.
 */
export async function doJob(pool: Pool, kind: JobKind, { now, stop, work }: JobWork): Promise<boolean> {
  const { rows } = await pool.query<{ number: string }>(
    `UPDATE jobs SET begun_at_ms = $2 WHERE number =
       (SELECT number FROM jobs WHERE kind = $1 AND ended_at_ms IS NULL ORDER BY number LIMIT 1) RETURNING number`,
    [kind, now()],
  )
  if (rows[0] === undefined) return false
  const { number } = rows[0]
  const outcome = await work(await findEarlier(pool, kind)).catch(async (err: unknown) => {
    stop.throwIfAborted()
    await endJob(pool, number, { error: err instanceof Error ? err.message : String(err) }, now())
    throw err
  })
  await endJob(pool, number, outcome, now())
  await pool.query('DELETE FROM jobs WHERE kind = $1 AND ended_at_ms < $2', [kind, now() - kept_ms])
  return true
}

async function findEarlier(pool: Pool, kind: JobKind): Promise<EarlierJob | null> {
  const { rows } = await pool.query<EarlierJob>(
    `SELECT outcome, ended_at_ms::float8 AS ended_at_ms FROM jobs WHERE kind = $1 AND ended_at_ms IS NOT NULL
     ORDER BY number DESC LIMIT 1`,
    [kind],
  )
  return rows[0] ?? null
}

async function endJob(pool: Pool, number: string, outcome: object, now_ms: number): Promise<void> {
  await pool.query('UPDATE jobs SET ended_at_ms = $2, outcome = $3 WHERE number = $1', [
    number,
    now_ms,
    JSON.stringify(outcome),
  ])
}
