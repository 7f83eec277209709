import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Envelope } from '@tributary/contracts/envelope'
import { day_ms } from '@tributary/contracts/limits'
import { erasedRowKey } from '@tributary/contracts/tables'
import { topics } from '@tributary/contracts/topics'
import { utcDay } from '@tributary/domain/utc-day'
import { type NotedLog, noteLog } from '@tributary/erasure/unread-events'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { markRawExpired } from '@tributary/tables/events/raw-expired'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { roundsOf } from '@tributary/testing/rounds'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import fc from 'fast-check'
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
async function openLife() {
  const app_id = `app_${randomBytes(10).toString('hex')}`
  const broker = memoryBroker(1, () => later_ms)
  const erased = memoryTombstones()
  const running = await runConsumer({
    ...{ broker, registry: new Registry(), logger: pino({ level: 'silent' }), now: () => later_ms },
    consumer: eventWriter({ clickhouse, erased }),
  })
  const where = `app_id = '${app_id}'`
  let expired = ''
  const life = {
    app_id,
    /** Erases; `log` as it was noted before. */
    async erase(log?: NotedLog) {
      const { endOf } = log ?? (await noteLog(broker))
      erased.erase(app_id, 'back', mark_ms, endOf({ app_id, install_uuid: 'back' }))
    },
    noteLog: () => noteLog(broker),
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
    /** Deletes raw events before a day, as retention does. Its mark goes back over no day that it took. */
    async expire(before: string) {
      if (before <= expired) return
      expired = before
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
    /** Deletes what the mark covers, as the eraser does: the events that it finds, and their keys. */
    async carryOut() {
      const covered = `SELECT topic, partition, offset, event_key FROM events_raw_v1
        WHERE ${where} AND least(received_at_ms, ts_ms) <= ${mark_ms}`
      await life.delete('event_keys_v1', `(topic, partition, offset, event_key) IN (${covered})`)
      await life.delete('events_raw_v1', `least(received_at_ms, ts_ms) <= ${mark_ms}`)
    },
    async count(): Promise<Record<string, number>> {
      const rows = await clickhouse.query<{ event_name: string; events: number }>(
        `SELECT event_name, toUInt32(sum(events)) AS events FROM events_per_day_v1 WHERE ${where} GROUP BY event_name`,
      )
      return Object.fromEntries(rows.map(({ event_name, events }) => [event_name, events]))
    },
    close: () => running.close(),
  }
  return life
}

const install = (event_id: string, event_ts_ms: number) => ({ event_id, event_name: 'app_install', event_ts_ms })
const purchase = (event_id: string, event_ts_ms: number) => ({ event_id, event_name: 'purchase', event_ts_ms })

test('an erased install that came back counts once when it is sent again after its raw events have expired', async () => {
  const life = await openLife()
  const old_ms = mark_ms - day_ms
  await life.send({ received_at_ms: old_ms, events: [install('i', old_ms), purchase('p', old_ms)] })
  await life.erase()
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
  await life.erase()
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
  await life.erase()
  const at_ms = mark_ms + 60_000
  await life.send({ received_at_ms: at_ms, events: [install('i', at_ms)] })
  expect(await life.count()).toEqual({ app_install: 2 })
  await life.close()
})

test('events that retention with its clock ahead had deleted hide none of the new life, on whatever day it comes', async () => {
  const life = await openLife()
  const old_ms = mark_ms - 60_000
  await life.send({ received_at_ms: old_ms, events: [install('i', old_ms), ...ids.map((id) => purchase(id, old_ms))] })
  await life.expire(utcDay(mark_ms + 4 * day_ms))
  await life.erase()
  // The keys are still there: nothing leads the eraser to those of purchases.
  for (const [n, id] of ids.entries()) {
    const at_ms = mark_ms + 60_000 + n * day_ms
    const again = { received_at_ms: at_ms, events: [install('i', at_ms), purchase(id, at_ms)] }
    await life.send(again, again)
    expect(await life.count()).toEqual({ app_install: 2, purchase: ids.length + n + 1 })
  }
  await life.close()
})

test('an event of a new life counts once when it is sent again after retention ahead of the clock deleted it', async () => {
  const life = await openLife()
  await life.erase()
  for (const [n, id] of ids.entries()) {
    const at_ms = mark_ms + 60_000 + n * day_ms
    const again = { received_at_ms: at_ms, events: [install('i', at_ms), purchase(id, at_ms)] }
    await life.send(again)
    await life.expire(utcDay(mark_ms + 4 * day_ms))
    await life.send(again)
    expect(await life.count()).toEqual({ app_install: 1, purchase: n + 1 })
  }
  await life.close()
})

/** Days of a new life, that of the mark first. */
const ids = ['a', 'b', 'c']
const randomId = fc.constantFrom(...ids)
const randomDay = fc.integer({ min: -1, max: 4 })
const randomLives = fc.record({
  /** Events of the first life, on the day of the mark or the one before. */
  first: fc.array(fc.tuple(randomId, fc.constantFrom(0, -1)), { maxLength: 4 }),
  /** Retention then deletes up to so many days behind the mark; null: nothing. */
  expired: fc.option(randomDay),
  /** Events that reach the log while the erasure begins: received before the mark, or behind it. */
  meanwhile: fc.array(fc.tuple(randomId, fc.boolean()), { maxLength: 3 }),
  /** Events of the new life while the eraser has not come to the rows of the first one. */
  early: fc.array(randomId, { maxLength: 3 }),
  /** Then events, and runs of retention. */
  later: fc.array(fc.oneof(randomId, randomDay), { maxLength: 6 }),
})

test('each event of a new life counts once, whatever the first life had and retention deletes, by whatever clock', async () => {
  const property = fc.asyncProperty(randomLives, async ({ first, expired, meanwhile, early, later }) => {
    const life = await openLife()
    const isDuplicate = dropDuplicates()
    const fresh = new Set<string>()
    let is_installed = false
    const sendOld = (id: string, days: number) => {
      isDuplicate('install', 0)
      isDuplicate(id, days)
      const at_ms = mark_ms - 60_000 + days * day_ms
      return life.send({ received_at_ms: at_ms, events: [install('i', at_ms), purchase(id, at_ms)] })
    }
    const sendNew = (id: string) => {
      const at_ms = mark_ms + 60_000 + ids.indexOf(id) * day_ms
      return life.send({
        received_at_ms: at_ms,
        events: [install('i', at_ms), { ...purchase(id, at_ms), event_name: 'new' }],
      })
    }
    const expire = (days: number) => life.expire(utcDay(mark_ms + days * day_ms))
    for (const [id, days] of first) await sendOld(id, days)
    if (expired !== null) await expire(expired)
    const log = await life.noteLog()
    for (const [id, is_new] of meanwhile) {
      await (is_new ? sendNew(id) : sendOld(id, 0))
      // Nothing is erased yet, and it is a duplicate of the first life.
      if (is_new && !isDuplicate('install', 0)) is_installed = true
      if (is_new && !isDuplicate(id, ids.indexOf(id))) fresh.add(id)
    }
    await life.erase(log)
    for (const id of early) await sendNew(id)
    await life.carryOut()
    for (const one of later) await (typeof one === 'string' ? sendNew(one) : expire(one))
    const behind = [...early, ...later].filter((one) => typeof one === 'string')
    const installs = [first.length + meanwhile.length > 0, behind.length > 0 && !is_installed]
    for (const id of behind) fresh.add(id)
    const { app_install = 0, new: counted = 0 } = await life.count()
    expect({ app_install, counted }).toEqual({ app_install: installs.filter(Boolean).length, counted: fresh.size })
    await life.close()
  })
  await fc.assert(property, { numRuns: roundsOf(5) })
})

/** Says of each event in turn whether it is a duplicate of an earlier one, before anything is erased. */
function dropDuplicates() {
  const known: [string, number][] = []
  return (id: string, day: number): boolean => {
    const isKnown = known.some(([other, on]) => other === id && Math.abs(on - day) <= 1)
    if (!isKnown) known.push([id, day])
    return isKnown
  }
}

test('events that a clock ahead received and that are dated up to the mark hide none of the new life', async () => {
  const life = await openLife()
  const ahead_ms = mark_ms + 2 * 3_600_000
  await life.send(
    { received_at_ms: ahead_ms, events: [install('i', mark_ms - 60_000), purchase('p', mark_ms - 60_000)] },
    // Without a time of its own the client's clock dates it.
    { received_at_ms: ahead_ms, sent_at_ms: mark_ms - 1, events: [{ event_id: 'o', event_name: 'app_open' }] },
  )
  await life.erase()
  const at_ms = ahead_ms + 60_000
  await life.send({
    received_at_ms: at_ms,
    events: [install('i', at_ms), purchase('p', at_ms), { ...purchase('o', at_ms), event_name: 'app_open' }],
  })
  expect(await life.count()).toEqual({ app_install: 2, purchase: 2, app_open: 2 })
  await life.close()
})
