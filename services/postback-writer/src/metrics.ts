import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { Counter, type Registry } from 'prom-client'

/** Judgements that were written, first ones and later ones. */
export const judgedTotal = (registry: Registry) =>
  sharedMetric(registry, Counter, {
    name: 'tributary_postbacks_judged_total',
    help: 'Postbacks that were judged, again included.',
    labelNames: ['protocol', 'verdict'],
  })
