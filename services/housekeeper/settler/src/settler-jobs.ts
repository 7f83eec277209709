import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { doJob, type EarlierJob } from '@tributary/postgres/jobs'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { type Cut, createSettler, whenQuiet } from '@tributary/tables/settled/settler'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { fillDimensionsOnce } from './fill-dimensions.ts'

interface SettlerJobsDeps {
  pool: Pool
  clickhouse: Clickhouse
  now: () => number
  logger: Logger
  registry: Registry
  /** Ends an asked run; a time of this process by default. */
  timeout?: (ms: number) => AbortSignal
}

/** Settles what is due by `whenQuiet`. One process of several does it; two would do no harm. */
export function settleWhenQuiet(deps: SettlerJobsDeps) {
  const settle = countedSettler(deps)
  const fill = fillDimensionsOnce(deps)
  return async (stop: AbortSignal): Promise<void> => {
    if (!(await fill(stop))) return
    await unlessRunning(deps.pool, 'settler', (lost) => settle({ ...whenQuiet, signal: AbortSignal.any([stop, lost]) }))
  }
}

/** A request within this time continues a run that was cut; the command sends one at once. */
const going_on_ms_max = 60_000

/**
 * Settles all that is due when somebody asks for it, beside the other job, for at most `settle_ms_max`; a run goes on where the
 * last one was cut (docs/decisions/reports.md#the-settler-is-a-part-of-housekeeper). No figure has a second turn before all had one,
 * whatever changes meanwhile.
 */
export function settleWhenAsked(deps: SettlerJobsDeps) {
  const { pool, now, timeout = AbortSignal.timeout } = deps
  const settle = countedSettler(deps)
  const fill = fillDimensionsOnce(deps)
  return async (stop: AbortSignal): Promise<void> => {
    if (!(await fill(stop))) return
    await unlessRunning(pool, 'asked_settler', (lost) => {
      const ended = AbortSignal.any([stop, lost])
      const work = (before: EarlierJob | null) => {
        const signal = AbortSignal.any([ended, timeout(limits.settle_ms_max)])
        return settle({ quiet_ms: 0, signal, from: cutOf(before, now()) })
      }
      return doJob(pool, 'settle', { now, stop: ended, work })
    })
  }
}

function cutOf(before: EarlierJob | null, now_ms: number): Cut | null {
  if (before === null || Math.abs(now_ms - before.ended_at_ms) > going_on_ms_max) return null
  return (before.outcome as { cut?: Cut }).cut ?? null
}

function countedSettler({ clickhouse, logger, registry }: SettlerJobsDeps) {
  const settled = sharedMetric(registry, Counter, {
    name: 'tributary_settled_days_total',
    help: 'Figures of a day that were settled.',
    labelNames: ['figure'],
  })
  return createSettler({ clickhouse, logger, onSettled: (figure, days) => settled.inc({ figure }, days) })
}
