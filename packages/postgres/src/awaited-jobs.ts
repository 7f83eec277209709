import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { kept_ms } from './jobs.ts'
import { unlessRunning } from './one-at-a-time.ts'

/** Work that one service asks another for and waits for. Of each kind one is open at a time. */
export type AwaitedKind = 'replay' | 'dead_retry' | 'reconcile'

/** How far the work has come. */
export interface AwaitedState {
  begun: boolean
  /** The work shows it of itself; null until then. */
  progress: object | null
  /** The answer of the work, `{ error }` when it failed or broke off; null until it has ended. */
  outcome: object | null
}

/** The work as whoever does it sees it. */
export interface JobInHand {
  asked: unknown
  /** Fires when nobody waits for it any more. */
  left: AbortSignal
  /** Fires when it has to end: its process stops, or PostgreSQL no longer knows that it is at work. */
  ended: AbortSignal
  /** Has `progress` called each second and at the end, for whoever waits. */
  show(progress: () => object): void
}

/** Between two signs of life of whoever works. */
const sign_ms = 1000
/** A process that gave no sign for so long counts as gone, by the clock of PostgreSQL, which all share. */
const from_now = `now() + interval '15 seconds'`
const brokenOff = { error: 'It broke off.' }
const notBegun = { error: 'It has not begun.' }

/**
 * Asks for work and gives back its number; null while other work of its kind is open. What lost whoever works on it, or
 * whoever waited for its beginning, keeps nobody out.
 */
export async function askAwaited(
  client: Pick<PoolClient, 'query'>,
  kind: AwaitedKind,
  asked: object,
  now_ms: number,
): Promise<number | null> {
  await client.query(
    `UPDATE jobs SET ended_at_ms = $2, outcome = $3 WHERE kind = $1 AND ended_at_ms IS NULL
       AND CASE WHEN begun_at_ms IS NULL THEN awaited_until ELSE held_until END < now()`,
    [kind, now_ms, JSON.stringify(brokenOff)],
  )
  const { rows } = await client.query<{ number: string }>(
    `INSERT INTO jobs (kind, asked_at_ms, asked, awaited_until) VALUES ($1, $2, $3, ${from_now})
     ON CONFLICT DO NOTHING RETURNING number`,
    [kind, now_ms, JSON.stringify(asked)],
  )
  return rows[0] === undefined ? null : Number(rows[0].number)
}

/** Gives a sign that somebody waits, which has to be repeated each few seconds, and gives back how far the work has come. */
export async function awaitJob(pool: Pool, number: number): Promise<AwaitedState> {
  const { rows } = await pool.query<AwaitedState>(
    `UPDATE jobs SET awaited_until = ${from_now} WHERE number = $1
     RETURNING begun_at_ms IS NOT NULL AS begun, progress,
       coalesce(outcome, CASE WHEN held_until < now() THEN $2::jsonb END) AS outcome`,
    [number, JSON.stringify(brokenOff)],
  )
  return rows[0] ?? { begun: true, progress: null, outcome: brokenOff }
}

/** Nobody waits any more: work that has not begun never does, and other work may end. */
export async function leaveJob(pool: Pool, number: number, now_ms: number): Promise<void> {
  await pool.query(
    `UPDATE jobs SET awaited_until = '-infinity', ended_at_ms = CASE WHEN begun_at_ms IS NULL THEN $2::bigint END,
       outcome = CASE WHEN begun_at_ms IS NULL THEN $3::jsonb END
     WHERE number = $1 AND ended_at_ms IS NULL`,
    [number, now_ms, JSON.stringify(notBegun)],
  )
}

interface AwaitedWork {
  now: () => number
  stop: AbortSignal
  work: (job: JobInHand) => Promise<object>
}

/**
 * Does the work of a kind that somebody waits for, if there is any and no other process does it. Work that fails has ended:
 * its reason is the outcome, and the call rejects with it. Work that a crash broke off has failed: whoever asked decides
 * whether to repeat it, so that work which ends its process does so once.
 */
export async function doAwaited(pool: Pool, kind: AwaitedKind, given: AwaitedWork): Promise<void> {
  const { rowCount } = await pool.query('SELECT 1 FROM jobs WHERE kind = $1 AND ended_at_ms IS NULL', [kind])
  if (rowCount === 0) return
  await unlessRunning(pool, kind, async (lost) => {
    const job = await beginJob(pool, kind, given.now())
    if (job !== null) await workOn(pool, job, { ...given, lost })
    await pool.query('DELETE FROM jobs WHERE kind = $1 AND ended_at_ms < $2', [kind, given.now() - kept_ms])
  })
}

interface BegunJob {
  number: string
  asked: unknown
}

async function beginJob(pool: Pool, kind: AwaitedKind, now_ms: number): Promise<BegunJob | null> {
  // Nobody works on it: the lock is here.
  await pool.query(
    `UPDATE jobs SET ended_at_ms = $2, outcome = $3
     WHERE kind = $1 AND ended_at_ms IS NULL AND (begun_at_ms IS NOT NULL OR awaited_until < now())`,
    [kind, now_ms, JSON.stringify(brokenOff)],
  )
  const { rows } = await pool.query<BegunJob>(
    `UPDATE jobs SET begun_at_ms = $2, held_until = ${from_now}
     WHERE kind = $1 AND ended_at_ms IS NULL AND begun_at_ms IS NULL RETURNING number, asked`,
    [kind, now_ms],
  )
  return rows[0] ?? null
}

async function workOn(
  pool: Pool,
  { number, asked }: BegunJob,
  { now, stop, lost, work }: AwaitedWork & { lost: AbortSignal },
): Promise<void> {
  const left = new AbortController()
  const given_up = new AbortController()
  let progress: () => object | null = () => null
  const shown = () => {
    const current = progress()
    return current && JSON.stringify(current)
  }
  const show = (given: () => object) => {
    progress = given
  }
  const ended = AbortSignal.any([stop, lost, given_up.signal])
  const working = work({ asked, left: left.signal, ended, show })
  let over = false
  const end = working
    .catch(() => {})
    .finally(() => {
      over = true
    })

  async function giveSigns(): Promise<void> {
    while (!over) {
      const { rows } = await pool.query<{ awaited: boolean }>(
        `UPDATE jobs SET held_until = ${from_now}, progress = $2 WHERE number = $1 AND ended_at_ms IS NULL
         RETURNING awaited_until > now() AS awaited`,
        [number, shown()],
      )
      if (rows[0] === undefined) throw new Error('The work was given up for lost.')
      if (!rows[0].awaited) left.abort()
      await Promise.race([end, pause(sign_ms, undefined, { ref: false })])
    }
  }

  const [result] = await Promise.allSettled([working, giveSigns().catch((err: unknown) => given_up.abort(err))])
  const failed = result.status === 'rejected'
  await pool.query(
    `UPDATE jobs SET ended_at_ms = $2, outcome = $3, progress = coalesce($4, progress)
     WHERE number = $1 AND ended_at_ms IS NULL`,
    [number, now(), JSON.stringify(failed ? { error: messageOf(result.reason) } : result.value), shown()],
  )
  if (failed) throw result.reason
}

const messageOf = (err: unknown): string => (err instanceof Error ? err.message : String(err))
