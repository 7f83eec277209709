import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { type EndedTry, readBacklog } from '@tributary/tables/partners/due-postbacks'
import type { Pool } from 'pg'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Partners that have a label of their own; the others share `other`. */
const partners_max = 200

export type ForwarderMetrics = ReturnType<typeof forwarderMetrics>

/** The forwarder's metrics besides those of every consumer. */
export function forwarderMetrics(registry: Registry, now: () => number) {
  const tries = sharedMetric(registry, Counter, {
    name: 'tributary_partner_tries_total',
    help: 'Tries to deliver a postback to a partner.',
    labelNames: ['outcome'],
  })
  const dead = sharedMetric(registry, Counter, {
    name: 'tributary_partner_dead_total',
    help: 'Postbacks that were given up.',
    labelNames: ['reason'],
  })
  const seconds = sharedMetric(registry, Histogram, {
    name: 'tributary_partner_try_seconds',
    help: 'How long a partner took to answer.',
    labelNames: ['partner'],
    buckets: [0.1, 0.3, 1, 3, 10],
  })
  const delivered = sharedMetric(registry, Histogram, {
    name: 'tributary_partner_delivered_seconds',
    help: 'Time from when a postback is owed until it is delivered at the first try.',
    buckets: [0.1, 0.3, 1, 3, 10, 30],
  })
  const named = new Set<string>()
  const labelOf = (partner: string): string => {
    if (named.size < partners_max) named.add(partner)
    return named.has(partner) ? partner : 'other'
  }
  return {
    observe(
      { partner, state, tries: number, reason }: EndedTry,
      { owed_at_ms, elapsed_ms }: { owed_at_ms: number; elapsed_ms: number },
    ) {
      tries.inc({ outcome: state === 'due' ? 'retry' : state })
      if (state === 'dead') dead.inc({ reason: reason ?? '' })
      seconds.observe({ partner: labelOf(partner) }, elapsed_ms / 1000)
      if (state === 'delivered' && number === 1) delivered.observe(Math.max(0, now() - owed_at_ms) / 1000)
    },
  }
}

/** Adds gauges of what is due, which is read once for each scrape. While PostgreSQL is away they keep their values. */
export function watchDue(registry: Registry, pool: Pick<Pool, 'query'>, now: () => number): void {
  let reading: ReturnType<typeof readBacklog> | null = null
  const read = () => {
    reading ??= readBacklog(pool).finally(() => {
      reading = null
    })
    return reading.catch(() => null)
  }
  const oldest: Gauge = sharedMetric(registry, Gauge, {
    name: 'tributary_partner_due_oldest_seconds',
    help: 'How long the oldest postback that is due has been owed.',
    collect: async () => {
      const found = await read()
      if (found !== null) oldest.set(found.oldest_ms === null ? 0 : Math.max(0, now() - found.oldest_ms) / 1000)
    },
  })
  const due: Gauge = sharedMetric(registry, Gauge, {
    name: 'tributary_partner_due',
    help: 'Postbacks that are due, those that wait for their next try included.',
    collect: async () => {
      const found = await read()
      if (found !== null) due.set(found.due)
    },
  })
}
