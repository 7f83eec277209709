import { AskedReconcile, noReconcileProgress, type ReconcileProgress } from '@tributary/contracts/admin/reconcile'
import { limits } from '@tributary/contracts/limits'
import { doAwaited, type JobInHand } from '@tributary/postgres/awaited-jobs'
import { createPauses } from '@tributary/service-kit/service/pauses'
import type { ReconcilerDeps } from './deps.ts'
import { hourText, logDifferences, reconcileMetrics } from './metrics.ts'
import { reconcileRange, sinceOrLastDay } from './reconcile-range.ts'
import { countDifferences } from './stored-differences.ts'

/** Compares a range when somebody asks for it, for as long as somebody waits (`POST /reconcile`). */
export function reconcileWhenAsked(deps: ReconcilerDeps) {
  const { pool, now, logger } = deps
  const metrics = reconcileMetrics(deps.registry)

  async function work({ asked, left, ended, show }: JobInHand): Promise<object> {
    const { request_id, since_ms, app_id } = AskedReconcile.parse(asked)
    const progress: ReconcileProgress = { ...noReconcileProgress }
    show(() => progress)
    const signal = AbortSignal.any([left, ended])
    const range = { since_ms: sinceOrLastDay(since_ms, now()), app_id }
    const reached = (words: string) => {
      progress.at = words
    }
    const { hours, differences } = await reconcileRange(deps, range, { pause: createPauses(), signal, reached })
    metrics.hours.inc(hours)
    // A run of the job, which shows them too, may take hours.
    metrics.showDifferences(await countDifferences(pool))
    const listed = differences.slice(0, limits.reconcile_differences_max)
    logDifferences(logger, differences)
    logger.info({ request_id, app_id, since_ms, hours, differences: differences.length }, 'reconciled')
    Object.assign(progress, {
      ...{ state: 'done', hours, left_out: differences.length - listed.length },
      differences: listed.map(({ hour_ms, ...one }) => ({ ...one, hour: hourText(hour_ms) })),
    } satisfies Partial<ReconcileProgress>)
    return {}
  }

  return (stop: AbortSignal) => doAwaited(pool, 'reconcile', { now, stop, work })
}
