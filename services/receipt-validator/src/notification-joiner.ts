import type { Broker } from '@tributary/broker/broker'
import { consumers } from '@tributary/contracts/consumers'
import { StoreNotified } from '@tributary/contracts/receipt/store-notified'
import { type NotifiedEvent, toNotifiedEvent } from '@tributary/domain/receipt/notified-event'
import { type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import {
  addWaiting,
  findJoinedNotifications,
  type Notified,
  type PurchaseKey,
  removeWaiting,
} from '@tributary/tables/receipts/store-purchases'
import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import { storeEventsTotal } from './metrics.ts'
import { publishStoreEvents } from './publish-store-events.ts'

export interface JoinerDeps {
  broker: Pick<Broker, 'publish' | 'partitionCount'>
  postgres: Pick<Pool, 'query'>
  now(): number
  registry?: Registry
  /** Tests have it called before each step; throwing is the crash. */
  crash?(step: 'join' | 'publish' | 'remove'): void
}

/** A batch of the joiner. */
const batch_records_max = 500
const batch_bytes_max = 4 * 1024 * 1024

/**
 * Puts notifications of the stores on the install that made the purchase, as events. A notification waits first and is joined then: whoever
 * comes later, it or the verdict that names the install, sees the other.
 */
export function notificationJoiner(deps: JoinerDeps): ConsumerDefinition<{ notified: StoreNotified; bytes: number }> {
  const total = deps.registry && storeEventsTotal(deps.registry)
  return defineConsumer({
    ...consumers.notificationJoiner,
    bounds: {
      ...{ rows_max: batch_records_max, bytes_max: batch_bytes_max },
      measure: ({ bytes }) => ({ rows: 1, bytes }),
    },
    decode: ({ value }) => ({ notified: StoreNotified.parse(JSON.parse(value.toString())), bytes: value.length }),
    async handle({ records, dropped, written }) {
      const waiting = new Map<string, Notified>()
      for (const { value } of records) {
        const { app_id, company_id, store, audit_key } = value.notified
        const event = toNotifiedEvent(value.notified)
        total?.inc({ store, outcome: outcomeOf(event) })
        if (event === null) dropped('no_event', 1)
        else waiting.set(`${app_id}/${event.event_id}`, { app_id, company_id, store, audit_key, event })
      }
      const notified = [...waiting.values()]
      await addWaiting(deps.postgres, notified)
      const keys = notified.map(({ app_id, event }) => ({ app_id, original_id: event.original_id }))
      written(await joinNotifications(deps, keys))
    },
  })
}

/** Google names no money: its charges and refunds count nothing by themselves. */
const outcomeOf = (event: NotifiedEvent | null): string =>
  event === null
    ? 'none'
    : event.revenue === null && event.event_name !== 'subscription_cancelled'
      ? 'without_money'
      : 'event'

/** Publishes what waits for these purchases, and ends its wait. Gives back how many events it published. May be repeated. */
export async function joinNotifications(deps: JoinerDeps, keys: readonly PurchaseKey[]): Promise<number> {
  const { postgres, crash } = deps
  let published = 0
  for (;;) {
    crash?.('join')
    const joined = await findJoinedNotifications(postgres, keys)
    if (joined.length === 0) return published
    const events = joined.flatMap(({ notified, install_uuid }) => {
      // Erased: nothing comes back.
      if (install_uuid === null) return []
      const { app_id, company_id, store, audit_key, event } = notified
      const { original_id: _original, ...sent } = event
      const platform = store === 'apple' ? ('ios' as const) : ('android' as const)
      return [{ app_id, company_id, platform, install_uuid, audit_key, event: sent }]
    })
    crash?.('publish')
    await publishStoreEvents(deps, events)
    published += events.length
    crash?.('remove')
    await removeWaiting(
      postgres,
      joined.map(({ notified }) => notified),
    )
  }
}
