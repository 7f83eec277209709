import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { isErased } from '@tributary/domain/erasure/is-erased'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import { type MemoryTombstones, memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import fc from 'fast-check'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventWriter } from '../src/event-writer.ts'

const topic = topics.eventsAccepted
const group = 'event-writer'
const at = (time: string) => Date.parse(`2026-03-${time}Z`)
const mark_ms = at('10T12:00:00')
const before = at('09T08:00:00')
const after = at('11T08:00:00')

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const newAppId = () => `app_${randomBytes(10).toString('hex')}`

interface Sent {
  app_id: string
  install_uuid?: string
  received_at_ms: number
  events: Envelope['events']
}

const envelopeOf = ({ app_id, install_uuid = 'gone', received_at_ms, events }: Sent): Envelope => ({
  ...{ v: 1, company_id: 'co_1', app_id, platform: 'android', source: 'sdk', install_uuid, received_at_ms },
  ...{ ip: '203.0.113.7', user_agent: '', sdk: '', sdk_platform: '', audit_key: `key-${received_at_ms}`, events },
})
const recordOf = (sent: Sent) => ({
  ...{ topic: topic.name, partition: 0, key: null, value: Buffer.from(JSON.stringify(envelopeOf(sent))) },
})
const event = (event_id: string, event_ts_ms: number, event_name = 'level_up') => ({
  ...{ event_id, event_name, event_ts_ms },
})

class Crash extends Error {}

interface Life {
  erased: MemoryTombstones
  /** Called before and after each effect and look-up; throwing is the crash. */
  crash?: () => void
  /** Told of each batch that is begun. */
  onBatch?: (from: number, to: number, number: number) => void
}

/** Runs the writer until everything is written, or it crashes. */
async function live(broker: MemoryBroker, { erased, crash = () => {}, onBatch }: Life) {
  const registry = new Registry()
  let crashed = false
  const mayCrash = () => {
    if (!crashed) crash()
  }
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      mayCrash()
      const done = await work()
      mayCrash()
      return done
    } catch (err) {
      crashed ||= err instanceof Crash
      throw err
    }
  }
  const fragile: Clickhouse = {
    ...clickhouse,
    query: (sql, params) => step(() => clickhouse.query(sql, params)),
    insert: (block) => step(() => clickhouse.insert(block)),
  }
  const consumer = eventWriter({ clickhouse: fragile, erased, registry })
  const running = await runConsumer({
    ...{ broker, registry, logger: pino({ level: 'silent' }), now: () => after },
    consumer: {
      ...consumer,
      async handle(batch) {
        onBatch?.(batch.from, batch.to, batch.tombstones.number)
        await consumer.handle(batch)
      },
    },
    pauses: { first_ms: 1, most_ms: 2 },
    crash: () => step(async () => {}),
  })
  const deadline = Date.now() + 180_000
  while (!crashed && !broker.isDone(group, topic.name, 0)) {
    if (Date.now() > deadline) throw new Error('not in time')
    await pause(1)
  }
  await running.close()
  const dropped = (await registry.getSingleMetric('tributary_consumer_dropped_total')?.get())?.values ?? []
  return Object.fromEntries(dropped.map(({ labels, value }) => [labels.reason, value]))
}

/** Rows of an app as `<event_id> <log offset>`. */
async function rowsOf(app_id: string): Promise<string[]> {
  const rows = await clickhouse.query<{ row: string }>(
    `SELECT concat(event_id, ' ', toString(offset)) AS row FROM events_raw_v1 WHERE app_id = {app_id:String}`,
    { app_id },
  )
  return rows.map(({ row }) => row).toSorted()
}

test('after an erasure old events stay away, however they come, and a new life is kept whole', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(1, () => after)
  const erased = memoryTombstones()
  const first = { app_id, received_at_ms: before, events: [event('i', before, 'app_install'), event('e', before)] }
  const other = { ...first, install_uuid: 'stays' }
  await broker.publish([first, other].map(recordOf))
  expect(await live(broker, { erased })).toMatchObject({ erased: 0, duplicate: 0 })
  erased.erase(app_id, 'gone', mark_ms)
  // Rows and keys of the old life are still there, as while the eraser is at work.
  await broker.publish(
    [
      // A replay of what was received then, of both installs.
      first,
      other,
      // A backfill, and a phone that was offline.
      { app_id, received_at_ms: after, events: [event('old', before), event('new', after)] },
      // A new life: under ids of the old one, on the days of the old one's neighbours.
      { app_id, received_at_ms: after, events: [event('i', after, 'app_install'), event('e', mark_ms + 1)] },
    ].map(recordOf),
  )
  expect(await live(broker, { erased })).toMatchObject({ erased: 3, duplicate: 2 })
  expect([...erased.noted]).toEqual([`${app_id}/key-${before}`, `${app_id}/key-${after}`])
  const rows = ['e 0', 'e 1', 'i 0', 'i 1', 'e 5', 'i 5', 'new 4'].toSorted()
  expect(await rowsOf(app_id)).toEqual(rows)
  // Sent again: each event of the new life counts once.
  await broker.publish(
    [
      { app_id, received_at_ms: after + 1, events: [event('again', after, 'app_install'), event('e', mark_ms + 1)] },
    ].map(recordOf),
  )
  expect(await live(broker, { erased })).toMatchObject({ duplicate: 2 })
  expect(await rowsOf(app_id)).toEqual(rows)
})

test('a killed batch that comes again after new erasures drops exactly what it dropped before', async () => {
  const plan = fc.record({
    /** Install, and whether it was received and dated before or after the mark. */
    sent: fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.boolean(), fc.boolean()), {
      minLength: 3,
      maxLength: 9,
    }),
    /** Points of each life, and the install that is erased after it. */
    lives: fc.array(fc.record({ points: fc.integer({ min: 0, max: 14 }), erases: fc.integer({ min: 0, max: 2 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    chunk: fc.integer({ min: 1, max: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ sent, lives, chunk }) => {
      const app_id = newAppId()
      const broker = memoryBroker(1, () => after)
      broker.chunk_records_max = chunk
      const erased = memoryTombstones()
      const numbers = new Map<number, number>()
      const envelopes = sent.map(([n, late, new_dated], k) => ({
        ...{ app_id, install_uuid: `install-${n}`, received_at_ms: late ? after : before },
        events: [event(`x-${k}`, before - k), event(`y-${k}`, new_dated ? after : before)],
      }))
      await broker.publish(envelopes.map(recordOf))
      const onBatch = (from: number, to: number, number: number) => {
        for (let offset = from; offset <= to; offset += 1) {
          expect(numbers.get(offset) ?? number, 'one number for each batch').toBe(number)
          numbers.set(offset, number)
        }
      }
      for (const { points, erases } of lives) {
        let left = points
        const crash = () => {
          if (left-- <= 0) throw new Crash()
        }
        await live(broker, { erased, crash, onBatch })
        erased.erase(app_id, `install-${erases}`, mark_ms)
      }
      await live(broker, { erased, onBatch })
      const expected = await Promise.all(
        envelopes.map(async ({ install_uuid, received_at_ms, events }, offset) => {
          const mark = (await erased.upTo(numbers.get(offset)!)).markOf(app_id, install_uuid)
          const kept = events.filter(({ event_ts_ms }) => !isErased({ received_at_ms, event_ts_ms }, mark))
          return kept.map(({ event_id }) => `${event_id} ${offset}`)
        }),
      )
      expect(await rowsOf(app_id)).toEqual(expected.flat().toSorted())
    }),
    { numRuns: 6 },
  )
})
