import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Envelope } from '@tributary/contracts/envelope'
import { day_ms } from '@tributary/contracts/limits'
import { erasedRowKey } from '@tributary/contracts/tables'
import { topics } from '@tributary/contracts/topics'
import { utcDay } from '@tributary/domain/utc-day'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { markRawExpired } from '@tributary/tables/events/raw-expired'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventWriter } from '../src/event-writer.ts'

const topic = topics.eventsAccepted
const mark_ms = Date.UTC(2026, 2, 10, 12)
const later_ms = mark_ms + 4 * day_ms

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

interface Sent {
  received_at_ms: number
  sent_at_ms?: number
  events: Envelope['events']
}

/** A writer and its log, for one install of an app that is erased at the mark. */
async function openLife(clock: () => number = () => later_ms) {
  const now_ms = clock()
  const app_id = `app_${randomBytes(10).toString('hex')}`
  const broker = memoryBroker(1, () => now_ms)
  const erased = memoryTombstones()
  const running = await runConsumer({
    ...{ broker, registry: new Registry(), logger: pino({ level: 'silent' }), now: () => now_ms },
    consumer: eventWriter({ clickhouse, erased, now: clock }),
  })
  const where = `app_id = '${app_id}'`
  return {
    app_id,
    erase: () => erased.erase(app_id, 'back', mark_ms),
    async send(...sent: Sent[]) {
      const values = sent.map(
        (one): Envelope => ({
          ...{ v: 1, company_id: 'co_1', app_id, platform: 'android', source: 'sdk', install_uuid: 'back' },
          ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: 'key', ...one },
        }),
      )
      await broker.publish(
        values.map((value) => ({
          topic: topic.name,
          partition: 0,
          key: null,
          value: Buffer.from(JSON.stringify(value)),
        })),
      )
      const deadline = Date.now() + 60_000
      while (!broker.isDone('event-writer', topic.name, 0)) {
        if (Date.now() > deadline) throw new Error('not in time')
        await pause(1)
      }
    },
    /** Deletes raw events before a day, as retention does. */
    async expire(before: string) {
      await markRawExpired(clickhouse, new Map([[app_id, before]]))
      await clickhouse.command(`DELETE FROM events_raw_v1 WHERE ${where} AND day < '${before}'`)
    },
    delete: (table: string, condition: string) =>
      clickhouse.command(`DELETE FROM ${table} WHERE ${where} AND ${condition}`),
    /** Names the events of the day of the mark and earlier as an open batch of the eraser does. */
    nameErased: () =>
      clickhouse.command(
        `INSERT INTO erased_events_v1 (app_id, day, event_name, events, row_keys, done)
         SELECT app_id, day, event_name, 0, groupArray(${erasedRowKey()}), 0 FROM events_raw_v1
         WHERE ${where} AND received_at_ms <= ${mark_ms} GROUP BY app_id, day, event_name`,
      ),
    async count(): Promise<Record<string, number>> {
      const rows = await clickhouse.query<{ event_name: string; events: number }>(
        `SELECT event_name, toUInt32(sum(events)) AS events FROM events_per_day_v1 WHERE ${where} GROUP BY event_name`,
      )
      return Object.fromEntries(rows.map(({ event_name, events }) => [event_name, events]))
    },
    close: () => running.close(),
  }
}

const install = (event_id: string, event_ts_ms: number) => ({ event_id, event_name: 'app_install', event_ts_ms })
const purchase = (event_id: string, event_ts_ms: number) => ({ event_id, event_name: 'purchase', event_ts_ms })

test('an erased install that came back counts once when it is sent again after its raw events have expired', async () => {
  const life = await openLife()
  const old_ms = mark_ms - day_ms
  await life.send({ received_at_ms: old_ms, events: [install('i', old_ms), purchase('p', old_ms)] })
  life.erase()
  await life.delete('events_raw_v1', '1')
  await life.delete('event_keys_v1', '1')
  const at_ms = mark_ms + 60_000
  const again = { received_at_ms: at_ms, events: [install('i', at_ms), purchase('p', at_ms)] }
  await life.send(again)
  expect(await life.count()).toEqual({ app_install: 2, purchase: 2 })
  await life.expire(utcDay(mark_ms + day_ms))
  await life.send({ ...again, received_at_ms: later_ms })
  expect(await life.count()).toEqual({ app_install: 2, purchase: 2 })
  await life.close()
})

test('keys whose events the eraser has just deleted count for nothing, also in days whose raw events expire', async () => {
  const life = await openLife()
  const old_ms = mark_ms - 60_000
  await life.send({ received_at_ms: old_ms, events: [install('i', old_ms), purchase('p', old_ms)] })
  life.erase()
  await life.nameErased()
  await life.delete('events_raw_v1', '1')
  await life.expire(utcDay(mark_ms + day_ms))
  // The keys are still there: the eraser deletes them after the events.
  const at_ms = mark_ms + 60_000
  await life.send({ received_at_ms: at_ms, events: [install('i', at_ms), purchase('p', at_ms)] })
  expect(await life.count()).toEqual({ app_install: 2, purchase: 2 })
  await life.close()
})

test('an install that expired before it was erased does not hide the install event of the new life', async () => {
  const life = await openLife()
  const old_ms = mark_ms - 3 * day_ms
  await life.send({ received_at_ms: old_ms, events: [install('i', old_ms)] })
  await life.expire(utcDay(mark_ms - day_ms))
  life.erase()
  const at_ms = mark_ms + 60_000
  await life.send({ received_at_ms: at_ms, events: [install('i', at_ms)] })
  expect(await life.count()).toEqual({ app_install: 2 })
  await life.close()
})

test('an install that retention with its clock ahead had deleted does not hide the install event of the new life', async () => {
  const at_ms = mark_ms + 60_000
  const life = await openLife(() => at_ms)
  const old_ms = mark_ms - 60_000
  await life.send({ received_at_ms: old_ms, events: [install('i', old_ms), purchase('p', old_ms)] })
  await life.expire(utcDay(mark_ms + 4 * day_ms))
  life.erase()
  // The keys are still there: the eraser has not come to them.
  await life.send({ received_at_ms: at_ms, events: [install('i', at_ms), purchase('p', at_ms)] })
  expect(await life.count()).toEqual({ app_install: 2, purchase: 2 })
  await life.close()
})

test('an event of a new life counts once when it is sent again after retention ahead of the clock deleted it', async () => {
  const at_ms = mark_ms + day_ms
  const life = await openLife(() => at_ms)
  life.erase()
  const again = { received_at_ms: at_ms, events: [install('i', at_ms), purchase('p', at_ms)] }
  await life.send(again)
  await life.expire(utcDay(mark_ms + 4 * day_ms))
  await life.send(again)
  expect(await life.count()).toEqual({ app_install: 1, purchase: 1 })
  await life.close()
})

test('events that a clock ahead received and that are dated up to the mark hide none of the new life', async () => {
  const life = await openLife()
  const ahead_ms = mark_ms + 2 * 3_600_000
  await life.send(
    { received_at_ms: ahead_ms, events: [install('i', mark_ms - 60_000), purchase('p', mark_ms - 60_000)] },
    // Without a time of its own the client's clock dates it.
    { received_at_ms: ahead_ms, sent_at_ms: mark_ms - 1, events: [{ event_id: 'o', event_name: 'app_open' }] },
  )
  life.erase()
  const at_ms = ahead_ms + 60_000
  await life.send({
    received_at_ms: at_ms,
    events: [install('i', at_ms), purchase('p', at_ms), { ...purchase('o', at_ms), event_name: 'app_open' }],
  })
  expect(await life.count()).toEqual({ app_install: 2, purchase: 2, app_open: 2 })
  await life.close()
})

test('an event of a new life counts once when it is sent again to a writer whose clock is behind', async () => {
  let now_ms = later_ms
  const life = await openLife(() => now_ms)
  life.erase()
  const at_ms = mark_ms + 60_000
  const again = { received_at_ms: at_ms, events: [install('i', at_ms), purchase('p', at_ms)] }
  await life.send(again)
  await life.expire(utcDay(mark_ms + day_ms))
  now_ms = later_ms - 4 * day_ms // behind
  await life.send({ ...again, received_at_ms: later_ms })
  expect(await life.count()).toEqual({ app_install: 1, purchase: 1 })
  await life.close()
})
