import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Envelope } from '@tributary/contracts/envelope'
import { derivedFromEvents } from '@tributary/contracts/tables'
import { type Topic, topics } from '@tributary/contracts/topics'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { roundsOf } from '@tributary/testing/rounds'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import { Mutex } from 'async-mutex'
import fc from 'fast-check'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventWriter } from '../src/event-writer.ts'
import { derivedTables } from './derived-tables.ts'
import { countedEvents, modelTables, received, tableQueries } from './model.ts'

/** Of each run its own, with older logs of its own. */
let topic: Topic = topics.eventsAccepted
const group = 'event-writer'
const histories = roundsOf(4)
const partitions = 2
const received_at_ms = Date.UTC(2026, 0, 4)
const all = Array.from({ length: partitions }, (_, n) => n)

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

/** A clock that goes on with each look, as the log's does: a younger record is told by its time. */
function ticking() {
  let ms = received_at_ms
  return () => (ms += 1)
}

class Crash extends Error {}

interface Life {
  /** Calls of ClickHouse and steps of batches until it crashes. */
  points: number
  /** The engine has forgotten every token, as it does when its deduplication window is over. */
  forgetful: boolean
  reread?: boolean
  /** A view of the table that fails, so that an insert stops between two tables. */
  broken?: string | null
  /** Tables that the insert in which it crashes does not reach, as views that fail leave them. */
  unreached?: readonly string[]
}

async function live(broker: MemoryBroker, life: Life, app_id = '') {
  const { points, forgetful, reread = false, broken = null, unreached = [] } = life
  const view = `broken_${randomBytes(6).toString('hex')}_mv`
  if (broken !== null) {
    await clickhouse.command(
      `CREATE MATERIALIZED VIEW ${view} ENGINE = Null AS SELECT throwIf(countIf(app_id = '${app_id}') > 0) FROM ${broken}`,
    )
  }
  let left = points
  const mayCrash = () => {
    if (left-- <= 0) throw new Crash()
  }
  const fragile: Clickhouse = {
    ...clickhouse,
    async query(sql, params) {
      mayCrash()
      return clickhouse.query(sql, params)
    },
    insert: (block) =>
      statements.runExclusive(async () => {
        mayCrash()
        const views = left <= 0 ? unreached.map((table) => table.replace(/_v1$/, '_mv_v1')) : []
        for (const name of views) await clickhouse.command(`DETACH TABLE ${name}`)
        // No other call may come between.
        if (views.length > 0) left = 0
        await clickhouse.insert({ ...block, token: forgetful ? randomUUID() : block.token })
        for (const name of views) await clickhouse.command(`ATTACH TABLE ${name}`)
        mayCrash()
      }),
    command: (sql) =>
      statements.runExclusive(async () => {
        mayCrash()
        await clickhouse.command(sql)
        mayCrash()
      }),
  }
  const statements = new Mutex()
  const registry = new Registry()
  const running = await runConsumer({
    ...{ broker, registry, reread, crash: mayCrash, now: Date.now },
    consumer: { ...eventWriter({ clickhouse: fragile }), topic },
    logger: pino({ level: 'silent' }),
    pauses: { first_ms: 1, most_ms: 2 },
  })
  const deadline = Date.now() + 180_000
  while (left >= 0 && !all.every((n) => broker.isDone(group, topic.name, n))) {
    if (Date.now() > deadline) throw new Error('not in time')
    await pause(1)
  }
  await running.close()
  await clickhouse.command(`DROP VIEW IF EXISTS ${view} SYNC`)
}
const liveToEnd = (broker: MemoryBroker, more: Partial<Life> = {}) =>
  live(broker, { points: Number.POSITIVE_INFINITY, forgetful: false, ...more })

const commitsOf = (broker: MemoryBroker) => all.map((n) => broker.committed(group, topic.name, n) ?? null)

type Accident = (broker: MemoryBroker, at: number, before: ReturnType<typeof commitsOf>) => void

/** What may happen to a log, its offsets or its reader between two lives. All that was there had been written. */
const accidents = {
  none: () => {},
  offsets_back: (broker, at) => {
    for (const n of all) {
      const end = broker.committed(group, topic.name, n)?.offset ?? 0
      broker.setCommitted(group, topic.name, n, { offset: Math.floor(end * at), metadata: '' })
    }
  },
  offsets_lost: (broker) => {
    for (const n of all) broker.setCommitted(group, topic.name, n, null)
  },
  offsets_restored: (broker, _at, before) => {
    for (const n of all) broker.setCommitted(group, topic.name, n, before[n]!)
  },
  log_made_anew: (broker) => {
    for (const n of all) {
      broker.dropFrom(topic.name, n, 0)
      broker.setCommitted(group, topic.name, n, null)
    }
  },
  log_lost_its_tail: (broker, at) => {
    for (const n of all) broker.dropFrom(topic.name, n, Math.floor(broker.records(topic.name, n).length * at))
  },
  log_and_offsets_restored: (broker, at, before) => {
    accidents.log_lost_its_tail(broker, at)
    accidents.offsets_restored(broker, at, before)
  },
} satisfies Record<string, Accident>

type Requests = { install: number; events: Envelope['events'] }[]

const life = fc.record({ points: fc.integer({ min: 0, max: 30 }), forgetful: fc.boolean() })

const request = received.map(({ install, events }) => ({
  install,
  // Whose money it is across logs is looked at in transactions.clickhouse.test.ts.
  events: events.map((event) => ({ ...event, transaction_id: null })),
}))

const some = fc.array(request, { minLength: 1, maxLength: 6 })

/** A log of its own for an app of its own, and what was published to it. */
function newLog(chunk_records_max: number) {
  const app_id = `app_${randomBytes(10).toString('hex')}`
  topic = { ...topics.eventsAccepted, name: `tests.${app_id}` }
  const broker = memoryBroker(partitions, ticking())
  broker.chunk_records_max = chunk_records_max
  const history: { partition: number; offset: number; envelope: Envelope }[] = []
  const publish = async (requests: Requests) => {
    for (const { install, events } of requests) {
      const envelope = envelopeOf(app_id, `i-${install}`, events)
      const partition = install % partitions
      const value = Buffer.from(JSON.stringify(envelope))
      await broker.publish([{ topic: topic.name, partition, key: null, value }])
      history.push({ partition, offset: broker.records(topic.name, partition).at(-1)!.offset, envelope })
    }
  }
  return { app_id, broker, history, publish }
}

test('a view that fails in a batch whose intent is lost then leaves nothing out of any table', async () => {
  const plan = fc.record({
    ...{ first: some, second: some, chunk: fc.integer({ min: 1, max: 6 }) },
    unreached: fc.subarray(derivedFromEvents, { minLength: 1 }),
    ...{ points: fc.integer({ min: 3, max: 16 }), forgetful: fc.boolean() },
    accident: fc.constantFrom('none', 'offsets_back', 'offsets_lost', 'offsets_restored'),
    ...{ at: fc.double({ min: 0, max: 1, noNaN: true }), after: fc.array(life, { maxLength: 2 }) },
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ first, second, chunk, unreached, points, forgetful, accident, at, after }) => {
      const { app_id, broker, history, publish } = newLog(chunk)
      await publish(first)
      await liveToEnd(broker)
      const commits = commitsOf(broker)
      await publish(second)
      await live(broker, { points, forgetful, unreached })
      const happen: Accident = accidents[accident as keyof typeof accidents]
      happen(broker, at, commits)
      for (const one of after) await live(broker, one)
      await liveToEnd(broker, { forgetful, reread: accident === 'none' })
      expect(await tablesOf(app_id)).toEqual(modelTables(countedEvents(history)))
      const { held, recomputed } = await derivedTables(clickhouse, app_id, topic.name)
      expect(held).toEqual(recomputed)
    }),
    { numRuns: histories },
  )
})

test('whatever becomes of log and offsets, every table holds each event once', async () => {
  const plan = fc.record({
    ...{ first: some, second: some, third: some },
    resent: fc.array(fc.nat(), { maxLength: 5 }),
    accident: fc.constantFrom(...(Object.keys(accidents) as (keyof typeof accidents)[])),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    ...{ before: life, after: fc.array(life, { maxLength: 3 }) },
    broken: fc.constantFrom(null, 'events_raw_v1', 'revenue_raw_v1'),
    chunk: fc.integer({ min: 1, max: 6 }),
    reread: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ first, second, third, resent, accident, at, before, after, ...more }) => {
      const { app_id, broker, history, publish } = newLog(more.chunk)
      await publish(first)
      await live(broker, { ...before, broken: more.broken }, app_id)
      const commits = commitsOf(broker)
      await publish(second)
      await liveToEnd(broker, { forgetful: before.forgetful })
      expect(await tablesOf(app_id)).toEqual(modelTables(countedEvents(history)))

      const happen: Accident = accidents[accident]
      happen(broker, at, commits)
      const again = resent.map((n) => [...first, ...second][n % (first.length + second.length)]!)
      // Before anybody reads: the log may be as long again as it was, or longer.
      await publish([...again, ...third])
      for (const one of after) await live(broker, one)
      await liveToEnd(broker, { forgetful: before.forgetful, reread: more.reread })
      expect(await tablesOf(app_id)).toEqual(modelTables(countedEvents(history)))
    }),
    { numRuns: histories },
  )
})

async function tablesOf(app_id: string) {
  const tables: Record<string, string[]> = {}
  for (const [name, sql] of Object.entries(tableQueries)) {
    const rows = await clickhouse.query<{ line: string }>(sql, { app_id })
    tables[name] = rows.map(({ line }) => line).toSorted()
  }
  return tables
}

const envelopeOf = (app_id: string, install_uuid: string, events: Envelope['events']): Envelope => ({
  ...{ v: 1, company_id: 'co_1', app_id, platform: 'android', source: 'sdk', install_uuid, received_at_ms },
  ...{ ip: '203.0.113.7', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', events },
})
