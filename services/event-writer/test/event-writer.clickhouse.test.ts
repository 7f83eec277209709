import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Envelope } from '@tributary/contracts/envelope'
import { CodedError } from '@tributary/contracts/errors'
import { eventRowColumns } from '@tributary/contracts/rows'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { toEventRow } from '@tributary/domain/event-row'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { roundsOf } from '@tributary/testing/rounds'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import fc from 'fast-check'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventWriter } from '../src/event-writer.ts'
import { transactionSweep } from '../src/money/sweep-transactions.ts'
import { countedEvents, modelTables, received, tableQueries } from './model.ts'

const topic = topics.eventsAccepted
const partitions = 2
const group = 'event-writer'
const now = () => Date.UTC(2026, 0, 4)

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const newAppId = () => `app_${randomBytes(10).toString('hex')}`

function envelopeOf(app_id: string, install_uuid: string, events: Envelope['events']): Envelope {
  return {
    v: 1,
    company_id: 'co_1',
    app_id,
    platform: 'android',
    source: 'sdk',
    install_uuid,
    received_at_ms: now(),
    ip: '203.0.113.7',
    user_agent: '',
    sdk: '',
    sdk_platform: '',
    audit_key: '',
    events,
  }
}
const recordOf = (envelope: Envelope, partition: number) => ({
  topic: topic.name,
  partition,
  key: null,
  value: Buffer.from(JSON.stringify(envelope)),
})
const event = (event_id: string, more: Record<string, unknown> = {}) => ({
  event_id,
  event_name: 'level_up',
  event_ts_ms: Date.UTC(2026, 0, 2, 12),
  ...more,
})

/** A life of the event-writer with a ClickHouse that may fail. */
function start(broker: MemoryBroker, overrides: Partial<Clickhouse> = {}, crash = () => {}) {
  return runConsumer({
    broker,
    consumer: eventWriter({ clickhouse: { ...clickhouse, ...overrides } }),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    now,
    pauses: { first_ms: 1, most_ms: 2 },
    crash,
  })
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 180_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`)
    await pause(1)
  }
}
const allDone = (broker: MemoryBroker) => () =>
  Array.from({ length: partitions }, (_, n) => broker.isDone(group, topic.name, n)).every(Boolean)

async function runToEnd(broker: MemoryBroker, overrides: Partial<Clickhouse> = {}) {
  const running = await start(broker, overrides)
  await until(allDone(broker), 'every record written')
  await running.close()
}

async function tablesOf(app_id: string) {
  const tables: Record<string, string[]> = {}
  for (const [name, sql] of Object.entries(tableQueries)) {
    const rows = await clickhouse.query<{ line: string }>(sql, { app_id })
    tables[name] = rows.map(({ line }) => line).toSorted()
  }
  return tables
}

/** What the log holds, as the model sees it. */
function logOf(broker: MemoryBroker) {
  return Array.from({ length: partitions }, (_, n) => broker.records(topic.name, n))
    .flat()
    .filter(({ value }) => value.toString().startsWith('{"v":1'))
    .map(({ partition, offset, value }) => ({ partition, offset, envelope: JSON.parse(value.toString()) as Envelope }))
}
const modelOf = (broker: MemoryBroker) => modelTables(countedEvents(logOf(broker)))

/** Has every insert of the app fail in a view of the table, somewhere between the product's own; gives back the cure. */
async function breakInserts(app_id: string, table = 'events_raw_v1'): Promise<() => Promise<void>> {
  const name = `broken_${randomBytes(6).toString('hex')}_mv`
  await clickhouse.command(
    `CREATE MATERIALIZED VIEW ${name} ENGINE = Null
      AS SELECT throwIf(countIf(app_id = '${app_id}') > 0) FROM ${table}`,
  )
  return () => clickhouse.command(`DROP VIEW ${name} SYNC`)
}

class Crash extends Error {}

test('duplicates, reorderings, re-deliveries and a crash after any step leave every table as the model says', async () => {
  const life = fc.record({
    points: fc.integer({ min: 0, max: 16 }),
    chunk: fc.integer({ min: 1, max: 6 }),
    /** A view that fails, so that inserts stop between two tables: views run in an order of the engine's own. */
    broken: fc.constantFrom(null, null, 'events_raw_v1', 'revenue_raw_v1'),
    /** A sweep in the midst of it all. */
    sweeps: fc.boolean(),
  })
  const plan = fc.record({
    requests: fc.array(received, { minLength: 1, maxLength: 10 }),
    /** Requests that a client sends again, in any order. */
    resent: fc.array(fc.nat(), { maxLength: 4 }),
    lives: fc.array(life, { maxLength: 4 }),
    chunk: fc.integer({ min: 1, max: 6 }),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ requests, resent, lives, chunk }) => {
      const app_id = newAppId()
      const broker = memoryBroker(partitions, now)
      const sent = [...requests, ...resent.map((n) => requests[n % requests.length]!)]
      await broker.publish(
        sent.map(({ install, events, source, received_ago_ms, skew_ms }) => {
          const envelope = envelopeOf(app_id, `i-${install}`, events)
          const received_at_ms = now() - received_ago_ms
          const sent_at_ms = received_at_ms - skew_ms
          return recordOf({ ...envelope, source, received_at_ms, sent_at_ms }, install % partitions)
        }),
      )
      await broker.publish([{ topic: topic.name, partition: 0, key: null, value: Buffer.from('{"v":2}') }])
      for (const { points, chunk: chunk_records_max, broken, sweeps } of lives) {
        broker.chunk_records_max = chunk_records_max
        let left = points
        const mayCrash = () => {
          if (left-- <= 0) throw new Crash()
        }
        const fragile: Partial<Clickhouse> = {
          async query(sql, params) {
            mayCrash()
            return clickhouse.query(sql, params)
          },
          async insert(block) {
            mayCrash()
            await clickhouse.insert(block)
            mayCrash()
          },
        }
        const fix = broken === null ? undefined : await breakInserts(app_id, broken)
        const running = await start(broker, fragile, mayCrash)
        if (sweeps) await transactionSweep(clickhouse)()
        await until(() => left < 0 || allDone(broker)(), 'crash or end')
        await running.close()
        await fix?.()
      }
      broker.chunk_records_max = chunk
      await runToEnd(broker)
      await Promise.all([transactionSweep(clickhouse)(), transactionSweep(clickhouse)()])
      expect(await tablesOf(app_id)).toEqual(modelOf(broker))
      // A sweep of later histories would look at these transactions too.
      await clickhouse.command('TRUNCATE TABLE transaction_keys_v1')
    }),
    { numRuns: roundsOf(4) },
  )
})

test('a batch that a failing view left half-done is completed in every other table, and only once', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, now)
  await broker.publish([recordOf(envelopeOf(app_id, 'i', [event('1'), event('1'), event('2')]), 0)])
  const fix = await breakInserts(app_id)
  let failures = 0
  const running = await start(broker, {
    async insert(block) {
      try {
        await clickhouse.insert(block)
      } catch (error) {
        failures += 1
        throw error
      }
    },
  })
  await until(allDone(broker), 'the batch')
  await running.close()
  await fix()
  expect(failures).toBe(1)
  expect(await tablesOf(app_id)).toEqual(modelOf(broker))
})

test('an insert that times out but lands is counted once', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, now)
  await broker.publish([recordOf(envelopeOf(app_id, 'i', [event('1'), event('2')]), 1)])
  let timeouts = 0
  await runToEnd(broker, {
    async insert(block) {
      const landing = clickhouse.insert(block)
      await landing
      if (timeouts++ < 3) throw new Error('timeout')
    },
  })
  expect(timeouts).toBe(1)
  expect(await tablesOf(app_id)).toEqual(modelOf(broker))
})

test('an insert that lands while its batch is tried again is counted once, its keys too', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, now)
  await broker.publish([recordOf(envelopeOf(app_id, 'i', [event('0')]), 0)])
  await runToEnd(broker)
  await broker.publish([recordOf(envelopeOf(app_id, 'i', [event('1'), event('2')]), 0)])
  let late: Parameters<Clickhouse['insert']>[0] | null = null
  let tries = 0
  await runToEnd(broker, {
    async insert(block) {
      tries += 1
      if (tries > 1) return clickhouse.insert(block)
      late = block
      throw new Error('timeout')
    },
    async isInserting() {
      // At work until now: it is over when this is answered.
      if (late !== null) await clickhouse.insert(late)
      late = null
      return false
    },
  })
  expect(tries).toBe(1)
  expect(await tablesOf(app_id)).toEqual(modelOf(broker))
})

test('rows that no record should hold go to the dead letters with their reason, and all others are written', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, now)
  const good = [recordOf(envelopeOf(app_id, 'i', [event('1')]), 0), recordOf(envelopeOf(app_id, 'i', [event('2')]), 0)]
  const poison = recordOf(envelopeOf(app_id, 'i', [event('3'), event('4', { revenue: 'much' })]), 0)
  const foreign = recordOf(envelopeOf("x' OR 1", 'i', [event('5')]), 0)
  const garbage = { ...good[0]!, value: Buffer.from([0xff, 0x00]) }
  await broker.publish([good[0]!, poison, foreign, garbage, good[1]!])
  await runToEnd(broker)
  expect((await tablesOf(app_id)).raw).toHaveLength(2)
  const dead = broker.records(deadLetterTopic(topic).name, 0)
  expect(dead.map(({ headers }) => `${headers.source_offset} ${headers.reason}`).toSorted()).toEqual([
    '1 undecodable',
    '2 undecodable',
    '3 undecodable',
  ])
  expect(dead.map(({ value }) => value)).toContainEqual(garbage.value)
})

test('a row that ClickHouse cannot read does not hold up the rest, however often the block is sent', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, now)
  await broker.publish(['1', '2', '3', '4', '5'].map((id) => recordOf(envelopeOf(app_id, 'i', [event(id)]), 0)))
  const unreadable: Partial<Clickhouse> = {
    async insert(block) {
      const day = eventRowColumns.indexOf('day')
      const lines = String(block.lines)
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map((row) => (row.includes('3') ? row.with(day, 'no day') : row))
        .map((row) => JSON.stringify(row))
      await clickhouse.insert({ ...block, lines: lines.join('\n') })
      if (landed++ < 2) throw new Error('timeout')
    },
  }
  let landed = 0
  await runToEnd(broker, unreadable)
  const raw = (await tablesOf(app_id)).raw?.map((line) => line.split(' ')[1])
  expect(raw).toEqual(['1', '2', '4', '5'])
  const dead = broker.records(deadLetterTopic(topic).name, 0)
  expect(dead.map(({ headers }) => [headers.source_offset, headers.reason])).toEqual([['2', 'row_refused']])
})

test('a block that the engine has no memory for is divided until it fits, and blocks its partition no longer', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, now)
  await broker.publish(
    Array.from({ length: 8 }, (_, n) => recordOf(envelopeOf(app_id, `i-${n}`, [event('1'), event('2')]), 0)),
  )
  const sizes: number[] = []
  await runToEnd(broker, {
    async insert(block) {
      const rows = String(block.lines).trimEnd().split('\n').length
      sizes.push(rows)
      if (rows > 4) {
        const cause = new Error('Code: 241. DB::Exception: memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)')
        throw new CodedError('unavailable', { cause })
      }
      await clickhouse.insert(block)
    },
  })
  expect(Math.max(...sizes)).toBe(16)
  expect(await tablesOf(app_id)).toEqual(modelOf(broker))
})

test('a record that the engine refuses again and again becomes a dead letter, and all others are written', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, now)
  await broker.publish(['1', '2', '3'].map((id) => recordOf(envelopeOf(app_id, `i-${id}`, [event(id)]), 0)))
  await runToEnd(broker, {
    async insert(block) {
      if (String(block.lines).includes('"i-2"')) throw new Error('Code: 49. DB::Exception: logical error')
      await clickhouse.insert(block)
    },
  })
  const raw = (await tablesOf(app_id)).raw?.map((line) => line.split(' ')[0])
  expect(raw).toEqual(['i-1', 'i-3'])
  const dead = broker.records(deadLetterTopic(topic).name, 0)
  expect(dead.map(({ headers }) => [headers.source_offset, headers.reason])).toEqual([['1', 'row_refused']])
})

test('events of many years are one part in each table, so that they cost what events of a day cost', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, now)
  const years = Array.from({ length: 16 }, (_, n) => event(`${n}`, { event_ts_ms: Date.UTC(2010 + n, 5) }))
  await broker.publish([recordOf(envelopeOf(app_id, 'i', years), 0)])
  await runToEnd(broker)
  for (const table of ['events_raw_v1', 'event_keys_v1', 'events_per_day_v1', 'activity_by_day_v1']) {
    const held = await clickhouse.query(
      `SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(_part)) AS parts FROM ${table} WHERE app_id = '${app_id}'`,
    )
    expect(held, table).toEqual([{ rows: years.length, parts: 1 }])
  }
})

test('JSON of an event reaches the table byte for byte', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, now)
  const hard = { '}"\\': '{[,\n\u0000\u2028é😀\\"', n: [1e300, -0.5, null, [], {}], __proto: { '': ' ' } }
  const drawn = fc.sample(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), 200)
  const envelope = envelopeOf(
    app_id,
    'i',
    [hard, ...drawn].map((props, n) => event(`${n}`, { props, device: props, more: props })),
  )
  await broker.publish([recordOf(envelope, 0)])
  await runToEnd(broker)
  const held = await clickhouse.query(
    'SELECT event_id, props, device, extra FROM events_raw_v1 WHERE app_id = {app_id:String} ORDER BY toUInt32(event_id)',
    { app_id },
  )
  const received = JSON.parse(JSON.stringify(envelope.events)).map((sent: (typeof envelope.events)[number]) => {
    const { event_id, props, device, extra } = toEventRow(envelope, sent, {
      topic: topic.name,
      partition: 0,
      offset: 0,
    })
    return { event_id, props, device, extra }
  })
  expect(held).toEqual(received)
})
