import type { Broker } from '@tributary/broker/broker'
import type { Platform } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import type { StoreEvent } from '@tributary/domain/receipt/refund-event'
import { closeRecords, openRecords } from '@tributary/gateway/event-records'

/** An event of a store on an install of an app. */
export interface StoreEventOfInstall {
  company_id: string
  app_id: string
  platform: Platform
  install_uuid: string
  /** The audit object that holds what the store said; empty without one. */
  audit_key: string
  event: StoreEvent
}

interface Deps {
  broker: Pick<Broker, 'publish' | 'partitionCount'>
  now(): number
}

/** Puts events of stores on the log of accepted events. Durable when it resolves; one that comes again is a duplicate by its id. */
export async function publishStoreEvents({ broker, now }: Deps, events: readonly StoreEventOfInstall[]): Promise<void> {
  if (events.length === 0) return
  const partitions = await broker.partitionCount(topics.eventsAccepted.name)
  const received_at_ms = now()
  const records = events.flatMap(({ company_id, app_id, platform, install_uuid, audit_key, event }) => {
    const facts = {
      ...{ v: 1 as const, company_id, app_id, platform, source: 'store' as const, received_at_ms },
      ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '' },
    }
    const event_ts_ms = Math.min(
      Math.max(event.event_ts_ms, limits.event_ts_ms_min),
      received_at_ms + limits.event_ts_ahead_ms_max,
    )
    return closeRecords(openRecords(facts, [{ ...event, event_ts_ms, install_uuid }], partitions), audit_key)
  })
  await broker.publish(records)
}
