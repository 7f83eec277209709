import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { OpenWork, StoredBatch } from './batch/batch.ts'

export interface EraserMetrics {
  batch(stored: StoredBatch): void
  objects(count: number): void
  waiting(older: readonly OpenWork[]): void
  oldestQueued(seconds: number): void
  unreadable(objects: number): void
}

/** Metrics of the eraser besides those of every consumer. */
export function eraserMetrics(registry: Registry): EraserMetrics {
  const rows = sharedMetric(registry, Counter, {
    name: 'tributary_erasure_rows_total',
    help: 'Rows that erasures took away.',
    labelNames: ['table'],
  })
  const batches = sharedMetric(registry, Counter, {
    name: 'tributary_erasure_batches_total',
    help: 'Batches of erasures that were carried out.',
  })
  const objects = sharedMetric(registry, Counter, {
    name: 'tributary_erasure_objects_total',
    help: 'Audit objects that erasures rewrote.',
  })
  const waits = sharedMetric(registry, Counter, {
    name: 'tributary_erasure_waits_total',
    help: 'Minutes that erasures waited for batches of a consumer that were begun before them.',
    labelNames: ['consumer', 'partition'],
  })
  const oldest = sharedMetric(registry, Gauge, {
    name: 'tributary_erasure_oldest_queued_seconds',
    help: 'Age of the oldest request that is not erased, 0 without any.',
  })
  const unreadable = sharedMetric(registry, Gauge, {
    name: 'tributary_erasure_unreadable_objects',
    help: 'Audit objects that erasures wait for because they cannot be read or rewritten.',
  })
  return {
    batch({ plan }) {
      batches.inc()
      for (const counts of Object.values(plan?.counts ?? {}))
        for (const [table, count] of Object.entries(counts)) rows.inc({ table }, count)
    },
    objects: (count) => objects.inc(count),
    waiting(older) {
      for (const { consumer, partition } of older) waits.inc({ consumer, partition })
    },
    oldestQueued: (seconds) => oldest.set(seconds),
    unreadable: (objects) => unreadable.set(objects),
  }
}
