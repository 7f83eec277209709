import { day_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { retention_lock } from '@tributary/erasure/raw-events-lock'
import { doJob } from '@tributary/postgres/jobs'
import { afterRunning, unlessRunning } from '@tributary/postgres/one-at-a-time'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { Counter, Gauge, type Registry } from 'prom-client'
import { planRetention } from './plan-retention.ts'
import { type RetentionDeps, type RetentionDone, runRetention } from './run-retention.ts'

export interface RetentionJobDeps extends RetentionDeps {
  registry: Registry
}

/**
 * Runs retention once a UTC day from `limits.retention_hour_utc` on, and at once when a night was missed. One process of
 * several does it, while its session holds the lease. A run that fails is done again at the next call; one that the eraser
 * kept from raw events, for these alone.
 */
export function retentionJob(deps: RetentionJobDeps): (signal: AbortSignal) => Promise<void> {
  const { pool, now } = deps
  const metrics = retentionMetrics(deps.registry)
  /** The day on which all but raw events was done. */
  let but_raw: string | null = null
  /** The ends of runs that were seen in the future once. When their day comes, they no longer look so. */
  const ahead = new Set<string>()
  return async (stop) => {
    if (!isDue(await readNewest(), now())) return
    await unlessRunning(pool, retention_lock, async (lost) => {
      if (!isDue(await readNewest(), now())) return
      const day = utcDay(now())
      const done = await runRetention(deps, AbortSignal.any([stop, lost]), { raw_first: but_raw === day })
      if (done === null) return
      await keepRun(deps, metrics, day, done)
      if (done.raw_waits) but_raw = day
      else await readNewest()
    })
  }

  /** The day of the newest run; null without one. A run in the future, of a clock that was ahead, counts as not there. */
  async function readNewest(): Promise<string | null> {
    const times = [utcDay(now()), now() + limits.clocks_apart_ms_max]
    const future = await pool.query<{ ended: string }>(
      'SELECT ended_at::text AS ended FROM retention_runs WHERE day > $1 OR ended_at > to_timestamp($2 / 1000.0)',
      times,
    )
    for (const { ended } of future.rows) ahead.add(ended)
    const { rows } = await pool.query<{ day: string; ended_s: number }>(
      `SELECT day::text AS day, extract(epoch FROM ended_at)::float8 AS ended_s FROM retention_runs
       WHERE day <= $1 AND ended_at <= to_timestamp($2 / 1000.0) AND ended_at <> ALL($3::timestamptz[])
       ORDER BY day DESC LIMIT 1`,
      [...times, [...ahead]],
    )
    metrics.ended.set(rows[0]?.ended_s ?? 0)
    return rows[0]?.day ?? null
  }
}

/** Between two tries of an asked run to begin while the run of the night goes on. */
const night_wait_ms = 5000

/** Runs retention when somebody asks for it, and counts what a run would do (`POST /retention/run`). */
export function retentionWhenAsked(deps: RetentionJobDeps): (signal: AbortSignal) => Promise<unknown> {
  const { pool, now } = deps
  const metrics = retentionMetrics(deps.registry)
  return (stop) =>
    unlessRunning(pool, 'asked_retention', async (lost) => {
      const ended = AbortSignal.any([stop, lost])
      await doJob(pool, 'retention_plan', { now, stop: ended, work: () => planRetention(deps, ended) })
      const run = async () => {
        const done = await afterRunning(pool, retention_lock, night_wait_ms, async (let_go) => {
          const day = utcDay(now())
          const found = (await runRetention(deps, AbortSignal.any([ended, let_go])))!
          await keepRun(deps, metrics, day, found)
          return found
        })
        if (done === null) throw new Error('The run of the night is at work.')
        return done.result
      }
      await doJob(pool, 'retention', { now, stop: ended, work: run })
    })
}

/** Counts a run, and keeps it as that of its day if it has done everything. */
async function keepRun(
  { pool, now, logger }: RetentionJobDeps,
  metrics: ReturnType<typeof retentionMetrics>,
  day: string,
  done: RetentionDone,
): Promise<void> {
  for (const [table, rows] of Object.entries(done.rows)) metrics.rows.inc({ table }, rows)
  metrics.objects.inc({ change: 'blanked' }, done.objects_blanked)
  metrics.objects.inc({ change: 'deleted' }, done.objects_deleted)
  if (done.raw_waits) {
    logger.warn({ day, ...done }, 'retention is done but for raw events, which wait for the eraser')
    return
  }
  await pool.query(
    `INSERT INTO retention_runs (day, ended_at, done) VALUES ($1, to_timestamp($2 / 1000.0), $3)
     ON CONFLICT (day) DO UPDATE SET ended_at = excluded.ended_at, done = excluded.done`,
    [day, now(), done],
  )
  logger.info({ day, ...done }, 'retention is done')
}

function isDue(newest: string | null, now_ms: number): boolean {
  if (newest !== null && newest >= utcDay(now_ms)) return false
  return (
    newest === null || newest < utcDay(now_ms - day_ms) || new Date(now_ms).getUTCHours() >= limits.retention_hour_utc
  )
}

const retentionMetrics = (registry: Registry) => ({
  rows: sharedMetric(registry, Counter, {
    name: 'tributary_retention_rows_total',
    help: 'Rows that retention blanked or deleted.',
    labelNames: ['table'],
  }),
  objects: sharedMetric(registry, Counter, {
    name: 'tributary_retention_objects_total',
    help: 'Audit objects that retention rewrote without addresses, or deleted.',
    labelNames: ['change'],
  }),
  ended: sharedMetric(registry, Gauge, {
    name: 'tributary_retention_ended_seconds',
    help: 'When the newest run of retention ended, Unix epoch seconds; 0 before the first.',
  }),
})
