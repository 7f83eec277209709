import type { LogRecord } from '@tributary/broker/broker'
import { noTombstones } from '@tributary/domain/erasure/tombstones'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { expect, it } from 'vitest'
import { eventForwarder } from '../src/owe/event-forwarder.ts'
import type { OweDeps } from '../src/owe/owe.ts'

const version = { partner: 'acme', valid_from_ms: 0, postback_url: 'https://acme.example', method: 'GET' }

/** The consumer where only `app_1` notifies a partner. */
const forwarder = (clickhouse: object = { query: async () => [] }) =>
  eventForwarder({
    postgres: {
      query: async () => ({ rows: [{ ...version, app_id: 'app_1', events: ['level_up'], flagged: false }] }),
    },
    broker: { groupOffsets: async () => [] },
    clickhouse,
    now: () => 0,
  } as unknown as OweDeps)

const recordOf = (key: string | null, value: string) => ({ key, offset: 7, value: Buffer.from(value) }) as LogRecord

const envelope = {
  ...{ v: 1, company_id: 'co_1', app_id: 'app_9', platform: 'ios', source: 'sdk', install_uuid: 'install-1' },
  ...{ received_at_ms: 1, audit_key: 'audit/1', ip: '', user_agent: '', sdk: '', sdk_platform: '', country: '' },
  events: [{ event_name: 'level_up' }],
}

/** Handles a record; how many were left out, by reason. */
async function handle(record: LogRecord): Promise<Record<string, number>> {
  const { decode, handle } = forwarder()
  const left_out: Record<string, number> = {}
  await handle({
    ...{ topic: 'events.accepted.v1', partition: 0, from: 7, to: 7, tombstones: noTombstones, written() {} },
    ...{ signal: new AbortController().signal, records: [{ record, value: decode(record, 'log') }] },
    dropped(reason: string, count: number) {
      if (count > 0) left_out[reason] = count
    },
  } as unknown as Batch<string>)
  return left_out
}

it('events of many records are looked up in parts that split no record and leave none out', async () => {
  const ranges: string[][] = []
  const { decode, handle } = forwarder({
    query: async (sql: string) => {
      const range = /BETWEEN (\d+) AND (\d+)/.exec(sql)
      if (range !== null) ranges.push(range.slice(1))
      return []
    },
  })
  const events = Array.from({ length: 3500 }, () => ({ event_name: 'level_up', event_ts_ms: 1.7e12, event_id: 'e' }))
  const value = JSON.stringify({ ...envelope, app_id: 'app_1', received_at_ms: 1.7e12, events })
  const records = Array.from({ length: 7 }, (_, offset) => ({ ...recordOf('app_1/install-1', value), offset }))
  await handle({
    ...{ topic: 'events.accepted.v1', partition: 0, from: 0, to: 6, tombstones: noTombstones, written() {} },
    ...{ signal: new AbortController().signal, dropped() {} },
    records: records.map((record) => ({ record, value: decode(record, 'log') })),
  } as unknown as Batch<string>)
  expect(ranges).toEqual([
    ['0', '2'],
    ['3', '5'],
    ['6', '6'],
  ])
})

it('the value of a record is not read where the app notifies nobody', async () => {
  const record = {
    ...recordOf('app_2/install-1', ''),
    get value(): Buffer {
      throw new Error('inflated')
    },
  }
  expect(await handle(record)).toEqual({})
})

it('a record that cannot be read is left out where the app notifies a partner: event-writer makes a dead letter of it', async () => {
  expect(await handle(recordOf('app_1/install-1', '{'))).toEqual({ undecodable: 1 })
})

it.each(['no app', '', '/install-1', null])('a record whose key is %j belongs to the app of its envelope', (key) => {
  expect(forwarder().decode(recordOf(key, JSON.stringify(envelope)), 'log')).toBe('app_9')
})
