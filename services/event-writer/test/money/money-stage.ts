import { randomBytes } from 'node:crypto'
import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { noTombstones } from '@tributary/domain/erasure/tombstones'
import { Registry } from 'prom-client'
import { eventWriter } from '../../src/event-writer.ts'

export const topic = topics.eventsAccepted.name
export const noon = Date.UTC(2026, 0, 2, 12)

export const newAppId = () => `app_${randomBytes(10).toString('hex')}`

export interface Sent {
  app_id: string
  partition: number
  offset: number
  install?: string
  source?: Envelope['source']
  received_at_ms?: number
  events: Envelope['events']
}
export const purchase = (revenue: number, more: Record<string, unknown> = {}) => ({
  event_id: randomBytes(8).toString('hex'),
  event_name: 'purchase',
  event_ts_ms: noon,
  transaction_id: 't1',
  revenue,
  ...more,
})

/** The event-writer on an engine: what it makes of records, and the sums of a report. */
export const moneyStage = (clickhouse: Clickhouse) => ({
  /** One batch of one record through the event-writer, as often as the test says. */
  write(
    { app_id, partition, offset, install = 'i', source = 'sdk', received_at_ms = noon, events }: Sent,
    over: Partial<Clickhouse> = {},
  ) {
    const envelope: Envelope = {
      ...{ v: 1, company_id: 'co_1', app_id, platform: 'ios', source, install_uuid: install, received_at_ms },
      ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', events },
    }
    return this.writeRecord({ partition, offset, value: Buffer.from(JSON.stringify(envelope)) }, over)
  },

  /** The same for a record as a gateway makes it. Resolves with how many events lost their money. */
  async writeRecord(
    { partition, offset, value }: { partition: number; offset: number; value: Buffer },
    over: Partial<Clickhouse> = {},
  ) {
    const record = { topic, partition, offset, timestamp_ms: noon, key: null, headers: {} } as unknown as LogRecord
    const registry = new Registry()
    const writer = eventWriter({ clickhouse: { ...clickhouse, ...over }, registry })
    const lines = writer.decode({ ...record, value }, topic)
    await writer.handle({
      topic,
      partition,
      source: topic,
      from: offset,
      to: offset,
      token: `${lines[0]!.app_id}/${partition}/${offset}`,
      records: [{ record, value: lines }],
      attempt: 1,
      tombstones: noTombstones,
      stored_at_ms: 0,
      state: undefined,
      keep() {},
      async fence() {},
      dead() {},
      dropped() {},
      written() {},
      signal: new AbortController().signal,
    })
    const cancelled = await registry.getSingleMetric('tributary_event_writer_cancelled_total')?.get()
    return cancelled?.values[0]?.value
  },

  /** Counted events and their money by name, as a report sees them: what counts less what was taken back. */
  async sums(app_id: string) {
    const rows = await clickhouse.query<{ event_name: string; n: number; micros: number }>(
      `SELECT event_name, toUInt32(sum(n)) AS n, toInt64(sum(micros)) AS micros FROM (
         SELECT event_name, sum(events) AS n, sum(revenue_micros) AS micros FROM events_per_day_v1
         WHERE app_id = {app_id:String} GROUP BY event_name
         UNION ALL
         SELECT event_name, toUInt64(0), -sum(toInt128(amount_micros)) FROM revenue_cancelled_v1 FINAL
         WHERE app_id = {app_id:String} GROUP BY event_name)
       GROUP BY event_name ORDER BY event_name`,
      { app_id },
    )
    return rows.map(({ event_name, n, micros }) => [event_name, n, micros / 1e6])
  },
})
