import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { Counter, type Registry } from 'prom-client'

/** Counts cancelled money of the writer and of the sweep alike, which share the registry of a process. */
export const cancelledTotal = (registry: Registry): Counter =>
  sharedMetric(registry, Counter, {
    name: 'tributary_event_writer_cancelled_total',
    help: 'Events whose money was cancelled, because another event has a better claim on the transaction.',
  })
