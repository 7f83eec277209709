import { deadLetterTopic } from '@tributary/contracts/topics'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import { type MemoryTombstones, memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import fc from 'fast-check'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { recordOfLetter } from '../../src/consumer/dead-letter.ts'
import type { Batch } from '../../src/consumer/define-consumer.ts'
import { openIntent } from '../../src/consumer/intent.ts'
import { startConsumers } from '../../src/consumer/start-consumers.ts'
import { createMisfitTroubles } from '../../src/service/troubles/misfit-troubles.ts'
import { createReplayNeeded } from '../../src/service/troubles/replay-needed.ts'
import { allDone, Crash, committedAt, letter, metric, now, reader, readToEnd, start, topic, until } from './letters.ts'

const openAt = (broker: MemoryBroker) => openIntent(committedAt(broker) ?? null)

const erase = (store: MemoryTombstones) => store.erase('app', 'install', now())

/** A letter of an app is `<app_id>/<text>`. */
const pinning = (store: MemoryTombstones, handle: (batch: Batch<string>) => void | Promise<void>) => ({
  ...reader(handle),
  tombstones: store,
  appOf: (text: string) => (text.includes('/') ? text.split('/', 1)[0]! : null),
})

test('a batch knows what was erased before it, and also what was erased while it was being declared', async () => {
  const broker = memoryBroker(1, now)
  const store = memoryTombstones()
  erase(store)
  const seen: number[] = []
  const consumer = pinning(store, ({ tombstones }) => {
    expect(openAt(broker)?.tombstones).toBe(tombstones.number)
    seen.push(tombstones.number)
  })
  await broker.publish([letter('a')])
  await readToEnd(broker, { consumer, crash: (step) => void (step === 2 && erase(store)) })
  expect(seen).toEqual([2])
})

test('a batch that is found declared keeps its number, on every try of every process', async () => {
  const broker = memoryBroker(1, now)
  const store = memoryTombstones()
  erase(store)
  const seen: [number, boolean][] = []
  let failures = 3
  const consumer = pinning(store, ({ tombstones, attempt }) => {
    seen.push([tombstones.number, attempt > 1])
    erase(store)
    if (failures-- > 0) throw new Error('dependency away')
  })
  await broker.publish([letter('a')])
  const dead = () => {
    throw new Crash()
  }
  const first = start(broker, { consumer, crash: (step) => (step === 3 ? dead() : undefined) })
  await until(() => seen.length > 3, 'the calls of the first process')
  await (await first.running).close()
  await readToEnd(broker, { consumer })
  expect(seen.slice(0, 5).map(([number]) => number)).toEqual([1, 1, 1, 1, 1])
  expect(seen[0]![1]).toBe(false)
  await broker.publish([letter('b')])
  await readToEnd(broker, { consumer })
  expect(seen.at(-1)).toEqual([(await store.newest()) - 1, false])
})

test('a batch waits while nobody can read what was erased', async () => {
  const broker = memoryBroker(1, now)
  const store = memoryTombstones()
  store.away = true
  let calls = 0
  let failures = 0
  await broker.publish([letter('a')])
  const watched: MemoryTombstones = {
    ...store,
    newest: () =>
      store.newest().finally(() => {
        failures += 1
      }),
  }
  const { running } = start(broker, {
    consumer: pinning(watched, () => {
      calls += 1
    }),
  })
  await until(() => failures > 3, 'tries')
  expect([calls, committedAt(broker)?.offset]).toEqual([0, 0])
  store.away = false
  await until(allDone(broker), 'the batch')
  await (await running).close()
  expect(calls).toBe(1)
})

test('records of an app of which nobody can tell what was erased wait as dead letters, and hold up no other app', async () => {
  const broker = memoryBroker(1, now)
  const store = memoryTombstones()
  for (const app_id of ['locked', 'open']) store.erase(app_id, 'install', now())
  store.locked.add('locked')
  const handled: string[] = []
  const consumer = pinning(store, ({ records, tombstones }) => {
    for (const { value } of records) {
      tombstones.markOf(consumer.appOf(value) ?? '', 'install')
      handled.push(value)
    }
  })
  await broker.publish(['open/1', 'locked/1', '!', 'none', 'locked/2', 'open/2'].map(letter))
  const registry = await readToEnd(broker, { consumer })
  expect(handled).toEqual(['open/1', 'none', 'open/2'])
  const dead = broker.records(deadLetterTopic(topic).name, 0)
  expect(dead.map(({ value, headers }) => [`${value}`, headers.reason])).toEqual(
    expect.arrayContaining([
      ['locked/1', 'salt_unreadable'],
      ['locked/2', 'salt_unreadable'],
      ['!', 'undecodable'],
    ]),
  )
  expect(dead).toHaveLength(3)
  expect(await metric(registry, 'tributary_consumer_dead_total')).toBe(3)
  // `dead retry` does this once the salt can be read again.
  store.locked.clear()
  const letters = dead.filter(({ headers }) => headers.reason === 'salt_unreadable')
  await broker.publish(letters.map((one) => recordOfLetter(topic, one)))
  await readToEnd(broker, { consumer })
  expect(handled.slice(3)).toEqual(['locked/1', 'locked/2'])
  expect(broker.records(deadLetterTopic(topic).name, 0)).toHaveLength(3)
})

test('a consumer that must drop what was erased does not start without knowing it', async () => {
  const consumer = { ...reader(() => {}), pins_tombstones: { by: 'install' as const } }
  const around = { broker: memoryBroker(1, now), logger: pino({ level: 'silent' }), registry: new Registry(), now }
  const misfits = createMisfitTroubles(createReplayNeeded(around), { tables_on_server: true })
  const started = startConsumers([consumer], { ...around, onClose: () => {} }, { misfits })
  await expect(started).rejects.toThrow('letter-reader')
  const nameless = { ...consumer, tombstones: memoryTombstones() }
  const again = startConsumers([nameless], { ...around, onClose: () => {} }, { misfits })
  await expect(again).rejects.toThrow('apps of its records')
})

test('whoever erases and then finds no older batch open sees none at work ever after', async () => {
  /** Lives of a consumer by their steps; at which steps somebody erases; how the log is cut. */
  const plan = fc.record({
    lives: fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 4 }),
    erased_at: fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 6 }),
    chunk: fc.integer({ min: 1, max: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ lives, erased_at, chunk }) => {
      const broker = memoryBroker(1, now)
      broker.chunk_records_max = chunk
      await broker.publish(Array.from({ length: 8 }, (_, n) => letter(`${n}`)))
      const store = memoryTombstones()
      const numbers = new Map<string, Set<number>>()
      let steps = 0
      let required = 0
      /** The eraser: it writes a tombstone at a step, and looks at the open batch at once and at each step after it. */
      const look = () => {
        steps += 1
        if (erased_at.includes(steps)) erase(store)
        const open = openAt(broker)
        const newest = store.size()
        if (open === null || (open.tombstones ?? -1) >= newest) required = newest
      }
      const watched: MemoryTombstones = {
        ...store,
        async newest() {
          look()
          const newest = await store.newest()
          look()
          return newest
        },
      }
      const consumer = pinning(watched, ({ token, tombstones }) => {
        look()
        expect(tombstones.number).toBeGreaterThanOrEqual(required)
        numbers.set(token, (numbers.get(token) ?? new Set()).add(tombstones.number))
      })
      for (const life of [...lives, Number.POSITIVE_INFINITY]) {
        let left = life
        const crash = () => {
          look()
          if (left-- <= 0) throw new Crash()
        }
        const { running } = start(broker, { consumer, crash })
        await until(() => left < 0 || allDone(broker)(), 'crash or end')
        await (await running).close()
      }
      for (const of of numbers.values()) expect(of.size, 'one number for each batch').toBe(1)
    }),
    { numRuns: 150 },
  )
})
