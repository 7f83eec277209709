import { hour_ms, limits } from '@tributary/contracts/limits'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import type { ReconcilerDeps } from './deps.ts'
import { compareHours } from './hours/compare-hours.ts'
import { compareOpenDays } from './hours/compare-open-days.ts'
import { comparedNames } from './hours/compared-names.ts'
import { forgetHours, newestHour } from './hours/reconciled-hours.ts'
import { hourOf, type Looked } from './look/findings.ts'
import { behindMetric, logDifferences, reconcileMetrics } from './metrics.ts'
import { addDifferences, countDifferences, forgetOldDifferences } from './stored-differences.ts'

/** Between two runs when something could not be compared: the first has read most of the stores already. */
const after_failure_ms = 600_000

/**
 * Compares each hour once it is closed and written, for ever (docs/operations.md#reconcile). One process of several does it. An hour is
 * compared again when the number of its audit objects has changed, or when tables have lost events of its day. A stop loses the work on one
 * app. What can't be compared is logged, and the run rejects at its end.
 */
export function reconcileHours(deps: ReconcilerDeps): (stop: AbortSignal) => Promise<void> {
  const { pool, now, logger } = deps
  const metrics = reconcileMetrics(deps.registry)
  const showBehind = behindMetric(deps.registry, now)
  const names = comparedNames(limits.reconcile_names_max)
  const started_ms = now()
  let failed_ms: number | null = null
  const showDone = (done_ms: number) => showBehind(deps.core_share === 0 ? null : done_ms)
  // A first run that fails or never ends must show, too.
  showDone(started_ms)

  async function show(): Promise<void> {
    const newest = await newestHour(pool)
    showDone(newest === null ? started_ms : newest + hour_ms)
    metrics.showDifferences(await countDifferences(pool))
  }

  async function keep({ hours, differences }: Looked): Promise<void> {
    metrics.hours.inc(hours.size)
    logDifferences(logger, differences)
    await addDifferences(pool, differences, now())
  }

  async function compareDue(signal: AbortSignal): Promise<unknown[]> {
    const until_ms = hourOf(now() - limits.reconcile_closed_ms)
    await forgetHours(pool, { now_ms: now(), until_ms })
    const newest = await newestHour(pool)
    if (newest !== null && newest + hour_ms >= until_ms) return []
    if (failed_ms !== null && Math.abs(now() - failed_ms) < after_failure_ms) return []
    const failures = await compareHours(deps, { until_ms, newest, names, keep, signal })
    failed_ms = failures.length === 0 ? null : now()
    return failures
  }

  return async (stop) => {
    await forgetOldDifferences(pool, now())
    await show()
    if (deps.core_share === 0) return
    await unlessRunning(pool, 'reconciler', async (lost) => {
      const signal = AbortSignal.any([stop, lost])
      const failures = [...(await compareDue(signal)), ...(await compareOpenDays(deps, signal))]
      if (failures.length > 0) throw new AggregateError(failures, 'Some apps or days could not be compared.')
    }).finally(show)
  }
}
