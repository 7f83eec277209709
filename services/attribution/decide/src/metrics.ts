import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { Backlog, RedecisionList } from '@tributary/tables/attribution/redecisions'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** What the attributor counts besides the metrics of every consumer. */
export const attributorMetrics = (registry: Registry) => ({
  seconds: sharedMetric(registry, Histogram, {
    name: 'tributary_install_attributor_step_seconds',
    help: 'What a batch waited for other consumers, and for its look-ups.',
    labelNames: ['step'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
  }),
  redecisions: sharedMetric(registry, Counter, {
    name: 'tributary_install_redecisions_total',
    help: 'Installs that are to be decided again because of a decision.',
  }),
})

/** What waits in the list, read once with each scrape; while PostgreSQL is away, what it said last. */
export function watchRedecisions(registry: Registry, list: Pick<RedecisionList, 'backlog'>): void {
  let reading: Promise<Backlog | null> | null = null
  const read = () => {
    reading ??= list
      .backlog()
      .catch(() => null)
      .finally(() => {
        reading = null
      })
    return reading
  }
  const oldest: Gauge = sharedMetric(registry, Gauge, {
    name: 'tributary_redecisions_oldest_seconds',
    help: 'How long the first install that is to be decided again has waited.',
    collect: async () => {
      const found = await read()
      if (found !== null) oldest.set((found.oldest_ms ?? 0) / 1000)
    },
  })
  const count: Gauge = sharedMetric(registry, Gauge, {
    name: 'tributary_redecisions',
    help: 'Installs that wait to be decided again.',
    collect: async () => {
      const found = await read()
      if (found !== null) count.set(found.count)
    },
  })
}
