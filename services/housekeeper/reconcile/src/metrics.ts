import { hour_ms, limits } from '@tributary/contracts/limits'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Difference } from './look/findings.ts'

/** Gives back what tells it up to when all hours are compared, Unix epoch ms; null: the job is off. */
export function behindMetric(registry: Registry, now: () => number): (until_ms: number | null) => void {
  let done_ms: number | null = null
  const behind = sharedMetric(registry, Gauge, {
    name: 'tributary_reconcile_behind_seconds',
    help: 'Age of the end of the newest hour that is compared of all apps; before the first, how long the process runs.',
    collect() {
      if (done_ms === null) behind.remove()
      else behind.set((now() - done_ms) / 1000)
    },
  })
  return (until_ms) => {
    done_ms = until_ms
  }
}

/** Metrics of the reconciler; the gauge shows what PostgreSQL holds, whichever process found it. */
export function reconcileMetrics(registry: Registry) {
  const differences = sharedMetric(registry, Gauge, {
    name: 'tributary_reconcile_differences',
    help: 'Hours of an app in which a store differs from the others.',
    labelNames: ['store'],
  })
  return {
    hours: sharedMetric(registry, Counter, {
      name: 'tributary_reconcile_hours_total',
      help: 'Hours of an app that were compared.',
    }),
    showDifferences(counts: ReadonlyMap<string, number>) {
      differences.reset()
      for (const [store, count] of counts) differences.set({ store }, count)
    },
  }
}

/** A line for each difference, which says where; at most `reconcile_differences_max` of them. */
export function logDifferences(logger: Logger, differences: readonly Difference[]): void {
  for (const { hour_ms: at_ms, ...where } of differences.slice(0, limits.reconcile_differences_max))
    logger.error({ ...where, hour: hourText(at_ms) }, 'stores differ')
  const left_out = differences.length - limits.reconcile_differences_max
  if (left_out > 0) logger.error({ left_out }, 'stores differ in further hours')
}

/** An hour as answers and lines name it: `2026-06-01T13:00:00Z`. */
export const hourText = (at_ms: number): string =>
  `${new Date(Math.floor(at_ms / hour_ms) * hour_ms).toISOString().slice(0, 19)}Z`
