import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { readReceiptBacklog } from '@tributary/tables/receipts/due-receipts'
import type { Pool } from 'pg'
import { Counter, Gauge, type Registry } from 'prom-client'

/** Counts verdicts of tries, each time that a receipt is judged. */
export const verdictsTotal = (registry: Registry) =>
  sharedMetric(registry, Counter, {
    name: 'tributary_receipt_verdicts_total',
    help: 'Receipts that were judged, those of a store that is away again and again.',
    labelNames: ['verdict', 'reason'],
  })

/** Counts notifications of stores by what they become. */
export const storeEventsTotal = (registry: Registry) =>
  sharedMetric(registry, Counter, {
    name: 'tributary_store_events_total',
    help: 'Notifications of stores by what they become: an event with its money, one of a charge or refund without, or none.',
    labelNames: ['store', 'outcome'],
  })

/** Adds gauges of what is due, which is read once for each scrape. While PostgreSQL is away they keep their values. */
export function watchDueReceipts(registry: Registry, pool: Pick<Pool, 'query'>): void {
  let reading: ReturnType<typeof readReceiptBacklog> | null = null
  const read = () => {
    reading ??= readReceiptBacklog(pool).finally(() => {
      reading = null
    })
    return reading.catch(() => null)
  }
  const due: Gauge = sharedMetric(registry, Gauge, {
    name: 'tributary_receipts_due',
    help: 'Receipts without a final verdict.',
    collect: async () => {
      const found = await read()
      if (found !== null) due.set(found.due)
    },
  })
  const oldest: Gauge = sharedMetric(registry, Gauge, {
    name: 'tributary_receipts_due_oldest_seconds',
    help: 'How long the oldest receipt without a final verdict has waited.',
    collect: async () => {
      const found = await read()
      if (found !== null) oldest.set((found.oldest_ms ?? 0) / 1000)
    },
  })
}
