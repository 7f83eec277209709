import { randomUUID } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import type { SentEvents } from '@tributary/testing/verify-events'

/** Events of one install that its SDK sends together. */
export interface EventBatch {
  install_uuid: string
  events: Record<string, unknown>[]
}

/** One device: an install that makes batches. The first batch contains its `app_install`. */
export interface Device {
  nextBatch(count: number): EventBatch
}

/** Several days, so that roll-ups have several groups per event name. */
const days = 3

export function makeDevice(): Device {
  const install_uuid = randomUUID()
  let batches = 0
  return {
    nextBatch(count) {
      const batch = batches
      batches += 1
      const newest_ms = Date.now() - (batch % days) * day_ms
      const events = Array.from({ length: count }, (_, n) => makeEvent(install_uuid, batch, n, newest_ms - n))
      return { install_uuid, events }
    },
  }
}

function makeEvent(install_uuid: string, batch: number, n: number, event_ts_ms: number): Record<string, unknown> {
  const base = { event_id: `${batch}-${n}-${randomUUID().slice(0, 8)}`, event_ts_ms, install_uuid }
  if (batch === 0 && n === 0) return { ...base, event_name: 'app_install' }
  const props = { level: n, screen: 'shop', note: 'n'.repeat(120) }
  if (n % 5 === 1) return { ...base, event_name: 'purchase', props, ...money(install_uuid, batch, n) }
  const user = n % 11 === 0 ? { user_id: `user-${install_uuid.slice(0, 8)}-${batch % 2}` } : {}
  return { ...base, ...user, event_name: ['session_start', 'level_up', 'ad_impression'][n % 3], props }
}

/** Some purchases have no transaction. The others share one with an event of the same batch and two of the batch before. */
function money(install_uuid: string, batch: number, n: number): Record<string, unknown> {
  if (n % 3 === 0) return { revenue: 1.5 + n, currency: 'EUR' }
  const pair = Math.floor(n / 10)
  const transaction_id = `${install_uuid}-${Math.floor(batch / 2)}-${pair}`
  return { revenue: 0.99 + pair, currency: 'USD', transaction_id, product_id: 'gems_100' }
}

/** The batch in the form of `verifyEvents`. */
export const sentOf = (app_id: string, { install_uuid, events }: EventBatch): SentEvents => ({
  app_id,
  install_uuid,
  event_ids: events.map(({ event_id }) => String(event_id)),
  dated_ms: events.map(({ event_ts_ms }) => Number(event_ts_ms)),
})
