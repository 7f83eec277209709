import { gzipSync } from 'node:zlib'
import type { OutgoingRecord } from '@tributary/broker/broker'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { closeRecords, holdsOf, openRecord, openRecords } from '@tributary/gateway/event-records'
import { sdkEvent } from '@tributary/testing/builders'

export const topic = topics.eventsAccepted
export const received_at_ms = Date.UTC(2026, 5, 1)

/** What gateways say of the requests of an app. */
export const factsOf = (app_id: string): EnvelopeFacts => ({
  ...{ v: 1, company_id: 'co_1', app_id, platform: 'android', source: 'sdk', received_at_ms, ip: '192.0.2.1' },
  ...{ user_agent: '', sdk: '', sdk_platform: '' },
})

export type SentEvent = Record<string, unknown> & { event_name: string; install_uuid: string }

export const eventOf = (event_name: string, install_uuid: string, more: object = {}): SentEvent =>
  sdkEvent({ event_name, install_uuid, event_ts_ms: received_at_ms - 1000, ...more }) as SentEvent

/** How a gateway stores a request: written anew, as the client's bytes, or as its gzip. */
export const forms = ['events', 'bytes', 'gzip'] as const
export type Form = (typeof forms)[number]

/** The record of a request that holds events of one install. */
export function recordOf(app_id: string, events: readonly SentEvent[], form: Form, partitions: number): OutgoingRecord {
  const facts = factsOf(app_id)
  const { install_uuid } = events[0]!
  const bytes = Buffer.from(JSON.stringify(events))
  const body = Buffer.from(JSON.stringify({ events }))
  const holds = holdsOf(events)
  const open = {
    events: () => openRecords(facts, events, partitions),
    bytes: () => [openRecord(facts, install_uuid, { sent: bytes, holds }, partitions)],
    gzip: () => {
      const sent = { gzip: gzipSync(body), inflated_bytes: body.length }
      return [openRecord(facts, install_uuid, { sent, holds }, partitions)]
    },
  }
  return closeRecords(open[form](), 'audit/1')[0]!
}
