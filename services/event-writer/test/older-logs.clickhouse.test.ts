import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { readViewSources } from '@tributary/clickhouse/schema/view-sources'
import type { Envelope } from '@tributary/contracts/envelope'
import { derivedFromEvents } from '@tributary/contracts/tables'
import { type Topic, topics } from '@tributary/contracts/topics'
import { type RunConsumerOptions, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { markRawExpired } from '@tributary/tables/events/raw-expired'
import { refillTables } from '@tributary/tables/repair/refill-tables'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { roundsOf } from '@tributary/testing/rounds'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventWriter } from '../src/event-writer.ts'
import { derivedTables } from './derived-tables.ts'

const group = 'event-writer'
const received_at_ms = Date.UTC(2026, 0, 4)

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

let broker: MemoryBroker
let topic: Topic
let app_id: string
let events_made = 0
beforeEach(() => {
  // The older logs of a test are its own.
  topic = { ...topics.eventsAccepted, name: `tests.${randomBytes(6).toString('hex')}` }
  let ms = received_at_ms
  broker = memoryBroker(1, () => (ms += 1))
  app_id = `app_${randomBytes(10).toString('hex')}`
})

/** A record with events of these years: money, a transaction and a user in each. */
async function publish(...years: number[]) {
  const events = years.map((year) => {
    events_made += 1
    const id = `${events_made}`
    return {
      ...{ event_id: id, event_name: 'purchase', event_ts_ms: Date.UTC(year, 5), revenue: 1, currency: null },
      ...{ transaction_id: `t${id}`, user_id: `u${id}`, props: null },
    }
  })
  const envelope: Envelope = {
    ...{ v: 1, company_id: 'co_1', app_id, platform: 'android', source: 'sdk', install_uuid: `i${events_made}` },
    ...{ ip: '203.0.113.7', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', received_at_ms, events },
  }
  await broker.publish([{ topic: topic.name, partition: 0, key: null, value: Buffer.from(JSON.stringify(envelope)) }])
}

async function until(condition: () => boolean) {
  for (const deadline = Date.now() + 180_000; !condition(); await pause(1)) {
    if (Date.now() > deadline) throw new Error('not in time')
  }
}

async function live(
  enough: () => boolean,
  overrides: Partial<Clickhouse> = {},
  more: Partial<RunConsumerOptions<never>> = {},
) {
  const running = await runConsumer({
    ...{ broker, registry: new Registry(), now: Date.now, logger: pino({ level: 'silent' }) },
    consumer: { ...eventWriter({ clickhouse: { ...clickhouse, ...overrides } }), topic },
    pauses: { first_ms: 1, most_ms: 2 },
    ...more,
  })
  await until(enough)
  await running.close()
}
const isDone = () => broker.isDone(group, topic.name, 0)

/** The process dies in its insert, which reaches `events_raw_v1` and none of these tables. */
async function dieInInsert(lacking: readonly string[]) {
  let isDead = false
  const refuseDead = () => {
    if (isDead) throw new Error('dead')
  }
  await live(() => isDead, {
    async query(sql, params) {
      refuseDead()
      return clickhouse.query(sql, params)
    },
    async insert(block) {
      refuseDead()
      const views = lacking.map((table) => table.replace(/_v1$/, '_mv_v1'))
      for (const view of views) await clickhouse.command(`DETACH TABLE ${view}`)
      await clickhouse.insert(block)
      for (const view of views) await clickhouse.command(`ATTACH TABLE ${view}`)
      isDead = true
      refuseDead()
    },
  })
}

async function expectExact(events: number) {
  const { held, recomputed } = await derivedTables(clickhouse, app_id, topic.name)
  expect(held).toEqual(recomputed)
  const [row] = await clickhouse.query(
    `SELECT count() AS rows, uniqExact(event_id) AS different FROM events_raw_v1 WHERE app_id = {app_id:String}`,
    { app_id },
  )
  expect(row).toEqual({ rows: events, different: events })
}

const accidents: Record<string, () => Partial<RunConsumerOptions<never>>> = {
  'the offsets were reset': () => {
    broker.setCommitted(group, topic.name, 0, { offset: 0, metadata: '' })
    return {}
  },
  'the offsets were reset behind it': () => {
    broker.setCommitted(group, topic.name, 0, { offset: broker.records(topic.name, 0).length, metadata: '' })
    return {}
  },
  'the log is read again': () => ({ reread: true }),
  'the log was made anew': () => {
    broker.dropFrom(topic.name, 0, 0)
    broker.setCommitted(group, topic.name, 0, null)
    return {}
  },
  'retention removed some of its records': () => {
    broker.dropBelow(topic.name, 0, broker.records(topic.name, 0).length - 1)
    return {}
  },
  'retention removed its records': () => {
    broker.dropBelow(topic.name, 0, broker.records(topic.name, 0).length)
    return {}
  },
}
const derived = derivedFromEvents
const lackings: string[][] = [
  ...derived.map((table) => [table]),
  derived.filter((table) => table !== 'event_keys_v1'),
  derived,
]
/** One of them after each further accident, and all of them at length. */
const kinds = [['events_per_day_v1', 'identities_v1'], ['event_keys_v1'], derived]
const cases = Object.keys(accidents).flatMap((accident, n) =>
  // Each table alone at the first, which stands for those that leave the records where they were.
  (n === 0 ? lackings : kinds.filter((_, kind) => (kind + n) % kinds.length < roundsOf(1))).map((lacking) => ({
    accident,
    lacking,
  })),
)

test.each(cases)(
  'when $accident after a view failed, each event is in $lacking once',
  async ({ accident, lacking }) => {
    await publish(2025, 2026)
    await publish(2025)
    await live(isDone)
    // The block that is half-done has records of one year, of the other and of both.
    await publish(2026)
    await publish(2026, 2026)
    await publish(2025)
    await dieInInsert(lacking)
    const more = accidents[accident]!()
    await publish(2026)
    await live(isDone, {}, more)
    await expectExact(8)
  },
)

test('a process that dies while it completes an older log leaves nothing doubled', async () => {
  await publish(2025, 2026)
  await live(isDone)
  for (let deaths = 0; deaths < 6; deaths += 1) {
    await publish(2026, 2025)
    await dieInInsert(deaths % 2 ? ['events_per_day_v1', 'identities_v1'] : ['event_keys_v1', 'revenue_raw_v1'])
    accidents['the offsets were reset']!()
    let calls = 0
    const dieAfter = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      calls += 1
      if (calls > deaths * 6) throw new Error('dead')
      return work()
    }
    await live(() => calls > deaths * 6 || isDone(), {
      query: (sql, params) => dieAfter(() => clickhouse.query(sql, params)),
      insert: (block) => dieAfter(() => clickhouse.insert(block)),
      command: (sql, options) => dieAfter(() => clickhouse.command(sql, options)),
    })
    accidents['the offsets were reset']!()
  }
  await live(isDone)
  await expectExact(2 + 12)
})

test('a year that retention emptied hides nothing that another year lacks', async () => {
  await publish(2025)
  await live(isDone)
  await publish(2026)
  await dieInInsert(['events_per_day_v1'])
  await markRawExpired(clickhouse, new Map([[app_id, '2026-01-01']]))
  await clickhouse.command(`DELETE FROM events_raw_v1 WHERE app_id = '${app_id}' AND toYear(day) = 2025`)
  accidents['the offsets were reset behind it']!()
  await publish(2026)
  await live(isDone)
  const counted = await clickhouse.query(
    `SELECT toYear(day) AS year, sum(events) AS events FROM events_per_day_v1 WHERE app_id = {app_id:String} GROUP BY year ORDER BY year`,
    { app_id },
  )
  expect(counted).toEqual([
    { year: 2025, events: 1 },
    { year: 2026, events: 2 },
  ])
})

test('sums that were filled again after an erasure count no event of others twice when a new log begins', async () => {
  await publish(2026)
  await publish(2026)
  await publish(2026)
  await live(isDone)
  const ofFirst = `app_id = '${app_id}' AND partition = 0 AND offset = 0`
  const columns =
    'app_id, day, event_name, currency, batch, received_day, topic, partition, events, revenue_micros, done'
  await clickhouse.command(
    `INSERT INTO erased_events_v1 (${columns})
     SELECT app_id, day, event_name, currency, generateUUIDv4(), '2026-01-04', topic, partition, 1, 1000000, 1
     FROM events_raw_v1 WHERE ${ofFirst}`,
  )
  for (const table of ['events_raw_v1', 'revenue_raw_v1', 'event_keys_v1', 'transaction_keys_v1'])
    await clickhouse.command(`DELETE FROM ${table} WHERE ${ofFirst}`)
  const tables = ['events_per_day_v1', 'events_received_per_day_v1']
  await refillTables({ clickhouse, tables, logger: { info() {} } })
  accidents['the offsets were reset behind it']!()
  await publish(2026)
  await live(isDone)
  for (const table of tables) {
    const sums = await clickhouse.query(`SELECT sum(events) AS events FROM ${table} WHERE app_id = '${app_id}'`)
    // Three that were taken in before, of which reports take one off, and one of the new log.
    expect(sums, table).toEqual([{ events: 4 }])
  }
})

test('each table that events fill has a view', async () => {
  const views = await readViewSources(clickhouse)
  expect(derived.filter((table) => !views.has(table))).toEqual([])
})
