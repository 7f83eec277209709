import type { ReconcilerDeps } from '../deps.ts'
import { hourText, logDifferences } from '../metrics.ts'
import { createPace } from '../pace.ts'
import { reconcileRange } from '../reconcile-range.ts'
import { findOpenDays, postponeDay } from '../stored-differences.ts'

/** Days with differences that a run compares again. */
const open_days_max = 5

/** Compares days with differences again: whoever repaired one need not say so. Gives why some could not be. */
export async function compareOpenDays(deps: ReconcilerDeps, signal: AbortSignal): Promise<unknown[]> {
  const { pool, now, logger } = deps
  const failures: unknown[] = []
  for (const day of await findOpenDays(pool, { now_ms: now(), days_max: open_days_max })) {
    const { pause, paced } = createPace(deps.core_share, signal)
    const range = { since_ms: day.day_ms, until_ms: day.day_ms, app_id: day.app_id }
    try {
      const work = { pause, signal, reached() {} }
      const { differences } = await reconcileRange({ ...deps, clickhouse: paced(deps.clickhouse) }, range, work)
      logDifferences(logger, differences)
    } catch (error) {
      signal.throwIfAborted()
      await postponeDay(pool, day, now())
      logger.error({ err: error, app_id: day.app_id, hour: hourText(day.day_ms) }, 'not compared')
      failures.push(error)
    }
  }
  return failures
}
