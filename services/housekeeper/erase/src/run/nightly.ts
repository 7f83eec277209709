import { limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { countUnreadable } from '@tributary/erasure/audit/unreadable-objects'
import { findOldestQueued } from '@tributary/erasure/find-oldest-queued'
import { findRunsAhead, requestNightlyRun } from '@tributary/erasure/runs'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import type { Pool } from 'pg'
import { type EraserDeps, runErasures } from './run-erasures.ts'

/**
 * Makes the run of the night from `limits.erasure_hour_utc` on, and those that were requested, one after the other and in one
 * process of several. A run that was broken off goes on with its number.
 */
export function erasureJob(deps: EraserDeps): (signal: AbortSignal) => Promise<void> {
  const { pool, now, metrics } = deps
  /** Seen in the future once. When the night of their date comes, they no longer look so. */
  const ahead = new Set<number>()
  return async (signal) => {
    const oldest = await findOldestQueued(pool)
    metrics?.oldestQueued(oldest === null ? 0 : Math.max(0, now() - oldest) / 1000)
    metrics?.unreadable(await countUnreadable(pool))
    const at = new Date(now())
    for (const run of await findRunsAhead(pool, now())) ahead.add(run)
    if (at.getUTCHours() >= limits.erasure_hour_utc)
      await requestNightlyRun(pool, utcDay(now()), { now_ms: now(), ahead: [...ahead] })
    if ((await findNext(pool)) === null) return
    await unlessRunning(pool, 'eraser', (lost, leaseHeld) =>
      runAll({ ...deps, leaseHeld }, AbortSignal.any([signal, lost])),
    )
  }
}

async function runAll(deps: EraserDeps, signal: AbortSignal): Promise<void> {
  const { pool, now } = deps
  for (let run = await findNext(pool); run !== null; run = await findNext(pool)) {
    // One that was broken off may have left old versions of objects, by whatever clock it began: 0 is before all of them.
    await pool.query(
      'UPDATE erasure_runs SET begun_at_ms = CASE WHEN begun_at_ms IS NULL THEN $2::bigint ELSE 0 END WHERE run = $1',
      [run, now()],
    )
    await runErasures(deps, run, signal)
    await pool.query('UPDATE erasure_runs SET ended_at_ms = $2 WHERE run = $1', [run, now()])
  }
}

async function findNext(pool: Pool): Promise<number | null> {
  const { rows } = await pool.query<{ run: string }>(
    'SELECT run FROM erasure_runs WHERE ended_at_ms IS NULL ORDER BY run LIMIT 1',
  )
  return rows[0] === undefined ? null : Number(rows[0].run)
}
