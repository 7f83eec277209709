import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { Counter, Histogram, type Registry } from 'prom-client'

/** What the attributor counts besides the metrics of every consumer. */
export const attributorMetrics = (registry: Registry) => ({
  seconds: sharedMetric(registry, Histogram, {
    name: 'tributary_install_attributor_step_seconds',
    help: 'What a batch waited for other consumers, and for its look-ups.',
    labelNames: ['step'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
  }),
  wishes: sharedMetric(registry, Counter, {
    name: 'tributary_install_redecisions_total',
    help: 'Installs that are to be decided again because of a decision.',
  }),
})
