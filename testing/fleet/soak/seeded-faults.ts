import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { mayBeErased } from './erasures.ts'

/** Where faults are seeded: apps that nobody erases from, so that each stays as it is. */
export interface FaultyApp {
  clickhouse: Clickhouse
  audit: Pick<RewritableAuditStore, 'get' | 'putOnce' | 'replace'>
  app_id: string
  /** An app whose sums are wrong: sums of a day are not compared while rows of it are missing. */
  other_app_id: string
  company_id: string
}

/** A difference that reconcile has to find: how much more there is than expected, negative for what lacks. */
export interface SeededFault {
  kind: FaultKind
  app_id: string
  /** First millisecond of the hour. */
  hour_ms: number
  store: string
  surplus: number
}

/** An event of whom the tables have a row, and the object that holds its request. */
interface StoredEvent {
  event_id: string
  install_uuid: string
  received_at_ms: number
  audit_key: string
}

const hourOf = (ms: number) => Math.floor(ms / hour_ms) * hour_ms
const found_tries = 600

/** One fault of each kind, again and again: an event or an object has at most one of them. */
export function faultsOf({ clickhouse, audit, app_id, other_app_id, company_id }: FaultyApp) {
  const touched = new Set<string>()
  const rowOf = ({ install_uuid, event_id }: StoredEvent) =>
    `app_id = ${textLiteral(app_id)} AND install_uuid = ${textLiteral(install_uuid)} AND event_id = ${textLiteral(event_id)}`

  /** An event of an SDK in an object without a fault. It counts no money, and nobody may ask for its erasure. */
  async function findEvent(): Promise<StoredEvent> {
    for (let tries = 0; tries < found_tries; tries += 1) {
      const found = await clickhouse.query<StoredEvent>(
        `SELECT event_id, install_uuid, received_at_ms, audit_key FROM events_raw_v1
         WHERE app_id = {app_id:String} AND source = 'sdk' AND event_name = 'level_up' ORDER BY rand() LIMIT 20`,
        { app_id },
      )
      const one = found.find(({ audit_key, install_uuid }) => !touched.has(audit_key) && !mayBeErased(install_uuid))
      if (one !== undefined) {
        touched.add(one.audit_key)
        return { ...one, received_at_ms: Number(one.received_at_ms) }
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error('no event without a fault was found')
  }

  const fault = (kind: FaultKind, at_ms: number, store: string, surplus: number): SeededFault => ({
    ...{ kind, app_id, store, surplus, hour_ms: hourOf(at_ms) },
  })

  const kinds = {
    /** The row of an event is deleted. */
    async deleted() {
      const event = await findEvent()
      await clickhouse.command(`ALTER TABLE events_raw_v1 DELETE WHERE ${rowOf(event)} SETTINGS mutations_sync = 2`)
      return fault('deleted', event.received_at_ms, 'events_raw_v1', -1)
    },
    /** The row of an event is there twice. */
    async doubled() {
      const event = await findEvent()
      await clickhouse.command(
        `INSERT INTO events_raw_v1 SELECT * FROM events_raw_v1 WHERE ${rowOf(event)} SETTINGS insert_deduplicate = 0`,
      )
      return fault('doubled', event.received_at_ms, 'events_raw_v1', 1)
    },
    /** A request is audited, and its record never came to the log. */
    async dropped() {
      const received_at_ms = Date.now()
      const event = { event_id: `dropped-${randomUUID()}`, event_name: 'level_up', install_uuid: `f-${randomUUID()}` }
      const headers = { 'user-agent': 'sdk/1', 'x-service-sdk': 'sdk/1', 'x-service-platform': 'android' }
      const body = { events: [{ ...event, event_ts_ms: received_at_ms - 1000 }], sent_at_ms: received_at_ms }
      const line = JSON.stringify({ received_at_ms, ip: '192.0.2.1', headers, body })
      const folder = `audit/${utcDay(received_at_ms).replaceAll('-', '/')}/${company_id}/${app_id}`
      const key = `${folder}/${received_at_ms}-dropped-${randomUUID().slice(0, 8)}.jsonl.gz`
      await audit.putOnce(key, gzipSync(`${line}\n`))
      return fault('dropped', received_at_ms, 'events.accepted.v1', -1)
    },
    /** An audit object lost its end. */
    async corrupted() {
      const { audit_key } = await findEvent()
      const content = await audit.get(audit_key)
      if (content === null) throw new Error(`${audit_key} is not there`)
      await audit.replace(audit_key, content, content.subarray(0, content.length - 12))
      return fault('corrupted', Number(/\/(\d+)-[^/]+$/.exec(audit_key)![1]), 'audit', -1)
    },
    /** A sum counts one event more than there is. */
    async off_by_one() {
      const today_ms = Math.floor(Date.now() / day_ms) * day_ms
      await clickhouse.command(
        `INSERT INTO events_per_day_v1 (app_id, day, event_name, currency, events, revenue_micros)
         SETTINGS insert_deduplication_token = ${textLiteral(randomUUID())}
         VALUES (${textLiteral(other_app_id)}, ${textLiteral(utcDay(today_ms))}, 'level_up', '', 1, 0)`,
      )
      return { ...fault('off_by_one', today_ms, 'events_per_day_v1', 1), app_id: other_app_id }
    },
  }
  return kinds satisfies Record<FaultKind, () => Promise<SeededFault>>
}

export const faultKinds = ['deleted', 'doubled', 'dropped', 'corrupted', 'off_by_one'] as const
export type FaultKind = (typeof faultKinds)[number]
