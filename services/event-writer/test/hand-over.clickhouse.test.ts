import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Broker } from '@tributary/broker/broker'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { installPartition } from '@tributary/broker/partition'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { consumers } from '@tributary/contracts/consumers'
import { deadLetterTopic, type Topic, topics } from '@tributary/contracts/topics'
import { publishMarks } from '@tributary/service-kit/consumer/hand-over'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventWriter } from '../src/event-writer.ts'
import { countsOf, envelopeOf, eventOf, exactly, newAppId, recordOf } from './writer-stage.ts'

const v1: Topic = { ...topics.eventsAccepted, partitions: 2 }
const v2: Topic = { ...v1, name: 'events.accepted.v2', partitions: 5 }
const before = { ...consumers.eventWriter, topic: v1 }
const next = { name: 'event-writer-v2', topic: v2, after: before }
const logger = pino({ level: 'silent' })

let clickhouse: TestClickhouse
let dir: string
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
  dir = await mkdtemp(join(tmpdir(), 'tributary-hand-over-'))
})
afterAll(async () => {
  await clickhouse.close()
  await rm(dir, { recursive: true, force: true })
})

async function openLog(app_id: string): Promise<Broker> {
  const log = await openEmbeddedBroker({ dir: join(dir, app_id), now: Date.now })
  await log.applyTopics([v1, v2].flatMap((topic) => [topic, deadLetterTopic(topic)]))
  return log
}

/** An event as a gateway of the old version publishes it, or one of the new. */
const requestOf = (app_id: string, topic: Topic, install: string, event_id: string) =>
  recordOf(
    topic,
    installPartition(app_id, install, topic.partitions),
    envelopeOf(app_id, install, [eventOf(event_id, { revenue: 1, transaction_id: `${install}-${event_id}` })]),
  )

interface Fragile {
  /** Called at every step of the kit, of ClickHouse and of the log; throws once the process is dead. */
  live(): void
}

/** A process: writers on both topics. */
async function startWriters(log: Broker, { live }: Fragile = { live() {} }) {
  const mortalLog: Broker = {
    ...log,
    async publish(records) {
      live()
      await log.publish(records)
      live()
    },
  }
  const mortal: Clickhouse = {
    ...clickhouse,
    async insert(block) {
      live()
      await clickhouse.insert(block)
      live()
    },
  }
  const running = await Promise.all(
    [before, next].map((group) =>
      runConsumer({
        ...{ broker: mortalLog, consumer: { ...eventWriter({ clickhouse: mortal }), ...group } },
        ...{ logger, registry: new Registry(), now: Date.now, crash: live },
        fetch: { bytes_min: 1, bytes_max: 2000, wait_ms_max: 1 },
        pauses: { first_ms: 1, most_ms: 2 },
      }),
    ),
  )
  return { close: () => Promise.all(running.map((one) => one.close())) }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 180_000; !(await condition()); await pause(2)) {
    if (Date.now() > deadline) throw new Error(`not in time: ${condition}`)
  }
}

async function lagOf(log: Broker, { name, topic }: typeof before | typeof next): Promise<number> {
  const offsets = await log.groupOffsets(name, topic.name)
  return offsets.reduce((sum, { committed, end }) => sum + end - (committed ?? 0), 0)
}
const isWritten = (log: Broker) => async () => (await lagOf(log, before)) + (await lagOf(log, next)) === 0

async function moneyOf(app_id: string): Promise<number> {
  const [row] = await clickhouse.query<{ money: string }>(
    'SELECT toString(sum(revenue_micros)) AS money FROM events_per_day_v1 WHERE app_id = {app_id:String}',
    { app_id },
  )
  return Number(row!.money) / 1e6
}

test('the new topic is begun when all of the old one up to its marks is written', async () => {
  const app_id = newAppId()
  const log = await openLog(app_id)
  await log.publish([requestOf(app_id, v1, 'i', '1'), requestOf(app_id, v2, 'i', '1'), requestOf(app_id, v2, 'i', '2')])
  const writers = await startWriters(log)
  await until(async () => (await lagOf(log, before)) === 0)
  expect(await countsOf(clickhouse, app_id)).toEqual(exactly(1, 1))
  expect(await lagOf(log, next)).toBe(2)

  await publishMarks(log, v1.name, v2.name)
  await until(isWritten(log))
  expect(await countsOf(clickhouse, app_id)).toEqual(exactly(2, 1))

  // A gateway that nobody stopped.
  await log.publish([
    requestOf(app_id, v1, 'i', '2'),
    requestOf(app_id, v1, 'i', '3'),
    recordOf(v1, 1, Buffer.from('?')),
  ])
  await until(isWritten(log))
  expect(await countsOf(clickhouse, app_id)).toEqual(exactly(3, 1))
  const rows = await clickhouse.query<{ topic: string }>(
    `SELECT splitByChar('@', topic)[1] AS topic FROM events_raw_v1 WHERE app_id = {app_id:String} AND event_id = '3'`,
    { app_id },
  )
  expect(rows).toEqual([{ topic: v2.name }])
  const dead = await log.groupOffsets('any', deadLetterTopic(v2).name)
  expect(dead.reduce((sum, { end }) => sum + end, 0)).toBe(1)
  await writers.close()
  await log.close()
})

test('events that are sent again across the hand-over count once, whoever publishes where and whatever is killed', async () => {
  const sent = fc.record({ install: fc.nat(3), event_id: fc.nat(4), is_new: fc.boolean() })
  const life = fc.record({
    sent: fc.array(sent, { maxLength: 12 }),
    marks: fc.boolean(),
    steps: fc.nat(40),
    processes: fc.integer({ min: 1, max: 2 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 4 }), async (lives) => {
      const app_id = newAppId()
      const log = await openLog(app_id)
      const publish = (some: (typeof lives)[number]['sent']) =>
        log.publish(
          some.map(({ install, event_id, is_new }) =>
            requestOf(app_id, is_new ? v2 : v1, `i-${install}`, `${event_id}`),
          ),
        )
      for (const { sent: some, marks, steps, processes } of lives) {
        let left = steps
        const live = () => {
          if (left-- <= 0) throw new Error('killed')
        }
        const running = await Promise.all(Array.from({ length: processes }, () => startWriters(log, { live })))
        await publish(some)
        if (marks) await publishMarks(log, v1.name, v2.name)
        await publish(some.toReversed())
        await until(async () => left <= 0 || (await lagOf(log, before)) === 0)
        await Promise.all(running.map((one) => one.close()))
      }
      const writers = await startWriters(log)
      await publishMarks(log, v1.name, v2.name)
      await publish(lives.flatMap((one) => one.sent))
      await until(isWritten(log))
      await writers.close()
      await log.close()
      const all = lives.flatMap((one) => one.sent)
      const events = new Set(all.map(({ install, event_id }) => `${install}/${event_id}`)).size
      const installs = new Set(all.map(({ install }) => install)).size
      expect(await countsOf(clickhouse, app_id)).toEqual(exactly(events, installs))
      expect(await moneyOf(app_id)).toBe(events)
    }),
    { numRuns: 6, endOnFailure: true },
  )
})
