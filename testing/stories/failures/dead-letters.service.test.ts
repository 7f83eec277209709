import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Broker } from '@tributary/broker/broker'
import { consumers } from '@tributary/contracts/consumers'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { retryWhenAsked } from '@tributary/replayer/retry-when-asked'
import { defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { adminAndReplayer } from '../admin-and-replayer.ts'

const topic = topics.eventsAccepted
const dead_topic = deadLetterTopic(topic).name
const partitions = 3
let clock_ms = Date.UTC(2026, 0, 2)
const now = () => clock_ms
let log = memoryBroker(partitions, now)
/** Called before each publish of the replayer; rejecting is its death. */
let beforePublish: (topic: string) => Promise<void> = async () => {}
const broker: Pick<Broker, 'consume' | 'groupOffsets' | 'publish'> = {
  consume: (options) => log.consume(options),
  groupOffsets: (group, name) => log.groupOffsets(group, name),
  async publish(records) {
    await beforePublish(records[0]?.topic ?? '')
    await log.publish(records)
  },
}
const { ask, auditOf } = adminAndReplayer({ broker, now }, ({ pool }) =>
  retryWhenAsked({ pool, broker, now, logger: pino({ level: 'silent' }) }),
)

/** What the consumer refuses, by value; what it has handled, each value once. */
let refused = new Map<string, string>()
let handled: string[] = []
beforeEach(() => {
  log = memoryBroker(partitions, now)
  beforePublish = async () => {}
  refused = new Map()
  handled = []
})

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 180_000; !(await condition()); await pause(1)) {
    if (Date.now() > deadline) throw new Error(`not in time: ${condition}`)
  }
}

async function startConsumer() {
  const running = await runConsumer({
    broker: log,
    consumer: defineConsumer<string>({
      ...consumers.eventWriter,
      decode: ({ value }) => String(value),
      async handle({ records, dead }) {
        for (const { record, value } of records) {
          const reason = refused.get(value)
          if (reason !== undefined) dead(record, reason)
          else if (!handled.includes(value)) handled.push(value)
        }
      },
    }),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    now,
  })
  onTestFinished(() => running.close())
}

const publish = (value: string, partition = 0) =>
  log.publish([
    { topic: topic.name, partition, key: `key of ${value}`, value: Buffer.from(value), headers: { trace: value } },
  ])
const untilRead = () =>
  until(async () =>
    (await log.groupOffsets(consumers.eventWriter.name, topic.name)).every(
      ({ committed, end }) => (committed ?? 0) === end,
    ),
  )
const list = async (query = '') => (await ask('GET', `/dead-letters${query}`)).body.dead
const retry = async (body: object = {}) => (await ask('POST', '/dead-letters/retry', body)).body

/** Consumes `values`, all of which are refused with their reason, one millisecond each. */
async function die(values: Record<string, string>) {
  refused = new Map(Object.entries(values))
  await startConsumer()
  for (const [n, value] of Object.keys(values).entries()) {
    await publish(value, n % partitions)
    await untilRead()
    clock_ms += 1
  }
}

test('lists what waits by topic and reason, with when the first and the last died', async () => {
  const from_ms = clock_ms
  await die({ a: 'row_refused', b: 'undecodable', c: 'row_refused' })
  expect(await list()).toEqual([
    { topic: topic.name, reason: 'row_refused', count: 2, first_ms: from_ms, last_ms: from_ms + 2 },
    { topic: topic.name, reason: 'undecodable', count: 1, first_ms: from_ms + 1, last_ms: from_ms + 1 },
  ])
  expect(await list(`?topic=${topic.name}`)).toHaveLength(2)
})

test('a retried letter is handled once the cause is gone, is listed no more and is never retried again', async () => {
  await die({ a: 'row_refused', b: 'row_refused', c: 'row_refused', d: 'row_refused' })
  refused.clear()
  expect(await retry()).toEqual({ retried: 4 })
  await untilRead()
  expect(handled.toSorted()).toEqual(['a', 'b', 'c', 'd'])
  expect(await list()).toEqual([])
  expect(await retry()).toEqual({ retried: 0 })
  const [first, again] = log.records(topic.name, 1)
  const { key, value, partition, headers } = again!
  expect({ key, value, partition }).toEqual({ key: first!.key, value: first!.value, partition: 1 })
  expect(headers).toEqual({ trace: 'b', attempts: '1', first_seen_ms: String(first!.timestamp_ms) })
})

test('a record that dies again is listed again, and its second death counts on', async () => {
  const from_ms = clock_ms
  await die({ a: 'row_refused' })
  expect(await retry()).toEqual({ retried: 1 })
  await untilRead()
  expect(await list()).toEqual([
    { topic: topic.name, reason: 'row_refused', count: 1, first_ms: clock_ms, last_ms: clock_ms },
  ])
  const { headers } = log.records(dead_topic, 0).at(-1)!
  expect(headers).toMatchObject({ attempts: '2', first_seen_ms: String(from_ms), source_offset: '1' })
})

test('a retry by reason leaves all others to be listed and retried later', async () => {
  await die({ a: 'row_refused', b: 'webhook_404', c: 'undecodable', d: 'webhook_404', e: 'row_refused' })
  const before = await list()
  refused.clear()
  expect(await retry({ topic: topic.name, reason: 'webhook_404' })).toEqual({ retried: 2 })
  await untilRead()
  expect(handled.toSorted()).toEqual(['b', 'd'])
  expect(await list()).toEqual(before.filter(({ reason }: { reason: string }) => reason !== 'webhook_404'))
  const unknown = await ask('POST', '/dead-letters/retry', { reason: 'nothing_has_this' })
  expect([unknown.status, unknown.body.error, unknown.body.field]).toEqual([400, 'invalid_field', 'reason'])
  expect(unknown.body.message).toContain(
    'row_refused (2 wait), too_large (0 wait), undecodable (1 wait), webhook_404 (0 wait)',
  )
  expect(await retry({ reason: 'webhook_404' })).toEqual({ retried: 0 })
  expect(await retry()).toEqual({ retried: 3 })
  await untilRead()
  expect(handled.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(await list()).toEqual([])
})

test('killed at any publish, a retry is finished by the next one', async () => {
  const values = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`v-${n}`, n % 2 ? 'odd' : 'even']))
  await die(values)
  refused.clear()
  for (let kills = 0, deaths = 1; deaths > 0; kills += 1) {
    let left = kills
    deaths = 0
    beforePublish = async () => {
      if (left-- > 0) return
      deaths += 1
      throw new Error('killed')
    }
    const { status } = await ask('POST', '/dead-letters/retry', {})
    expect(status).toBe(deaths > 0 ? 503 : 200)
    if (kills === 0) expect(await list()).toHaveLength(2)
  }
  await untilRead()
  expect(handled.toSorted()).toEqual(Object.keys(values))
  expect(await list()).toEqual([])
})

test('a letter that stands there twice after a crash counts once and is retried once', async () => {
  await die({ a: 'row_refused', b: 'row_refused' })
  const [letter] = log.records(dead_topic, 0)
  await log.publish([letter!, letter!])
  expect(await list()).toMatchObject([{ count: 2 }])
  refused.clear()
  expect(await retry()).toEqual({ retried: 2 })
  expect(log.records(topic.name, 0)).toHaveLength(2)
  expect(await list()).toEqual([])
})

test('a letter that lacks its record stays, and the answer names it', async () => {
  await die({ a: 'row_refused' })
  const headers = { reason: 'undecodable', source_offset: '7', too_large_bytes: '3000000', attempts: '1' }
  await log.publish([{ topic: dead_topic, partition: 1, key: null, value: Buffer.alloc(0), headers }])
  expect(await list()).toMatchObject([{ reason: 'row_refused' }, { reason: 'too_large', count: 1 }])
  refused.clear()
  expect(await retry()).toEqual({ retried: 1, too_large: 1 })
  expect(await retry()).toEqual({ retried: 0, too_large: 1 })
  expect(await list()).toMatchObject([{ reason: 'too_large', count: 1 }])
})

test('of two retries at once one runs, and the other is answered to come later', async () => {
  await die({ a: 'row_refused' })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let publishing = false
  beforePublish = async () => {
    publishing = true
    await held
  }
  const first = ask('POST', '/dead-letters/retry', {})
  await until(() => publishing)
  const second = await ask('POST', '/dead-letters/retry', {})
  expect([second.status, second.body.error, second.headers['retry-after']]).toEqual([503, 'unavailable', '1'])
  release()
  expect((await first).body).toEqual({ retried: 1 })
  expect(log.records(topic.name, 0)).toHaveLength(2)
})

test('each retry is in the audit log of the admin API, before anything is published', async () => {
  await die({ a: 'row_refused' })
  const entries = await auditOf(topic.name)
  beforePublish = async () => {
    const [entry] = (await auditOf(topic.name)).slice(entries.length)
    expect(entry).toMatchObject({ action: 'dead_letters.retry', detail: { reason: 'row_refused' } })
  }
  expect(await retry({ reason: 'row_refused' })).toEqual({ retried: 1 })
})

test('refuses a topic that no consumer reads, naming those that are', async () => {
  for (const [method, path, body] of [
    ['GET', `/dead-letters?topic=${randomBytes(4).toString('hex')}`, undefined],
    ['GET', '/dead-letters?topic=', undefined],
    ['POST', '/dead-letters/retry', { topic: dead_topic }],
  ] as const) {
    const { status, body: answer } = await ask(method, path, body)
    expect([status, answer.error, answer.field]).toEqual([400, 'invalid_field', 'topic'])
    expect(answer.message).toContain(topic.name)
  }
})
