import { gzipSync } from 'node:zlib'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { readRequest, toEnvelopes } from '@tributary/audited/audited-request'
import type { Broker } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import { hour_ms } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { utcDay } from '@tributary/domain/utc-day'
import { type EventLoad, envelopeOf, events_per_envelope } from '../writer/events.ts'

/** Requests that a gateway commits as one object. */
const requests_of_object = 20
const nothing = { replayed: 0, doubt() {} }
const topic = topics.eventsAccepted.name

export interface BenchApp {
  app_id: string
  company_id: string
}

/** Stores so many events of an hour as audited requests, and publishes what a gateway makes of them to the log. */
export async function sendRequests(audit: AuditStore, broker: Broker, app: BenchApp, events: number, start_ms: number) {
  const partitions = await broker.partitionCount(topic)
  const load: EventLoad = { app_id: app.app_id, seed: 'r', days: 1, until_ms: start_ms }
  const requests = Math.ceil(events / events_per_envelope)
  const folder = `audit/${utcDay(start_ms).replaceAll('-', '/')}/${app.company_id}/${app.app_id}`
  for (let first = 0; first < requests; first += requests_of_object) {
    const lines = Array.from({ length: Math.min(requests_of_object, requests - first) }, (_, n) =>
      lineOf(load, first + n, start_ms + Math.floor(((first + n) * hour_ms) / requests)),
    )
    const audit_key = `${folder}/${start_ms + Math.floor((first * hour_ms) / requests)}-b-${first}.jsonl.gz`
    await audit.putOnce(audit_key, gzipSync(`${lines.join('\n')}\n`, { level: 1 }))
    const facts = { ...app, clicks_deleted_before_ms: 0, platform: 'android', source: 'sdk', audit_key } as const
    const envelopes = lines.flatMap((line) => [...toEnvelopes(readRequest(Buffer.from(line)), facts, nothing)])
    await broker.publish(
      envelopes.map(({ envelope }) => ({
        ...{ topic, key: envelope.install_uuid, value: Buffer.from(JSON.stringify(envelope)) },
        partition: installPartition(app.app_id, envelope.install_uuid, partitions),
      })),
    )
  }
  return requests * events_per_envelope
}

function lineOf(load: EventLoad, n: number, received_at_ms: number): string {
  const { events, ip, user_agent, sdk, sdk_platform } = envelopeOf({ ...load, until_ms: received_at_ms }, n)
  const headers = { 'user-agent': user_agent, 'x-service-sdk': sdk, 'x-service-platform': sdk_platform }
  return JSON.stringify({ received_at_ms, ip, headers, body: { events, sent_at_ms: received_at_ms } })
}
