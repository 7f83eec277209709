import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { doJob } from '@tributary/postgres/jobs'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { createSettler, whenQuiet } from '@tributary/tables/settled/settler'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'

interface SettlerJobsDeps {
  pool: Pool
  clickhouse: Clickhouse
  now: () => number
  logger: Logger
  registry: Registry
}

/** Settles days that are over and quiet. One process of several does it; two would do no harm. */
export function settleWhenQuiet(deps: SettlerJobsDeps) {
  const settle = countedSettler(deps)
  return (stop: AbortSignal) =>
    unlessRunning(deps.pool, 'settler', (lost) => settle({ ...whenQuiet, signal: AbortSignal.any([stop, lost]) }))
}

/** Settles all that is due when somebody asks for it, beside the other job, for at most `settle_ms_max`. */
export function settleWhenAsked(deps: SettlerJobsDeps) {
  const { pool, now } = deps
  const settle = countedSettler(deps)
  return (stop: AbortSignal) =>
    unlessRunning(pool, 'asked_settler', (lost) => {
      const ended = AbortSignal.any([stop, lost])
      const work = () =>
        settle({ quiet_ms: 0, signal: AbortSignal.any([ended, AbortSignal.timeout(limits.settle_ms_max)]) })
      return doJob(pool, 'settle', { now, stop: ended, work })
    })
}

function countedSettler({ clickhouse, logger, registry }: SettlerJobsDeps) {
  const settled = sharedMetric(registry, Counter, {
    name: 'tributary_settled_days_total',
    help: 'Figures of a day that were settled.',
    labelNames: ['figure'],
  })
  return createSettler({ clickhouse, logger, onSettled: (figure, days) => settled.inc({ figure }, days) })
}
