import { sharedMetric } from '@tributary/service-kit/shared-metric'
import { Counter, type Registry } from 'prom-client'

/** Money taken back, whoever found it; the writer and the sweep of a process share the registry. */
export const cancelledTotal = (registry: Registry): Counter =>
  sharedMetric(registry, Counter, {
    name: 'tributary_event_writer_cancelled_total',
    help: 'Events whose money was taken back, because an earlier one of another partition has the transaction.',
  })
