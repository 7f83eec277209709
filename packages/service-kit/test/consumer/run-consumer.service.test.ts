import type { ConsumeOptions } from '@tributary/broker/broker'
import { deadLetterTopic } from '@tributary/contracts/topics'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import fc from 'fast-check'
import pino from 'pino'
import { expect, test } from 'vitest'
import {
  allDone,
  Crash,
  committedAt,
  group,
  letter,
  metric,
  now,
  reader,
  readToEnd,
  sink,
  start,
  topic,
  until,
} from './letters.ts'

test('every record counts once, whatever crashes after whichever step and however chunks are cut', async () => {
  const plan = fc.record({
    records: fc.integer({ min: 1, max: 25 }),
    /** A life ends after this many steps; the last one lives on. */
    lives: fc.array(fc.record({ steps: fc.integer({ min: 0, max: 14 }), chunk: fc.integer({ min: 1, max: 9 }) }), {
      maxLength: 5,
    }),
    /** Chunk sizes of the last life; with each next one a step fails once and the same process goes on. */
    chunks: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ records, lives, chunks }) => {
      const broker = memoryBroker(1, now)
      const table = sink()
      const letters = Array.from({ length: records }, (_, n) => (n % 7 === 3 ? `!${n}` : `${n}`))
      await broker.publish(letters.map(letter))
      for (const life of lives) {
        broker.chunk_records_max = life.chunk
        let left = life.steps
        const crash = () => {
          if (left-- <= 0) throw new Crash()
        }
        const { running } = start(broker, { consumer: reader(table.write), crash })
        await until(() => left < 0 || allDone(broker)(), 'crash or end')
        await (await running).close()
      }
      const sizes = [...chunks]
      broker.chunk_records_max = sizes.pop()!
      let steps = 0
      const stumble = () => {
        steps += 1
        if (steps % 5 !== 0 || sizes.length === 0) return
        broker.chunk_records_max = sizes.pop()!
        throw new Crash()
      }
      const { running } = start(broker, { consumer: reader(table.write), crash: stumble })
      await until(allDone(broker), 'all records')
      await (await running).close()
      expect(table.letters()).toEqual(letters.filter((text) => !text.startsWith('!')))
      const dead = broker.records(deadLetterTopic(topic).name, 0).map(({ value }) => value.toString())
      expect([...new Set(dead)]).toEqual(letters.filter((text) => text.startsWith('!')))
    }),
    { numRuns: 150 },
  )
})

test('each call of handle with a batch has a higher number, whoever makes it and whatever crashes', async () => {
  /** By life: how many steps it has, and how many calls of `handle` fail in it. */
  const life = fc.record({ steps: fc.integer({ min: 0, max: 9 }), failures: fc.integer({ min: 0, max: 3 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(life, { maxLength: 5 }), async (lives) => {
      const broker = memoryBroker(1, now)
      await broker.publish(['a', 'b'].map(letter))
      const calls = new Map<string, number[]>()
      const count = async (failures: number, steps: number) => {
        let [toFail, left] = [failures, steps]
        const consumer = reader(({ token, attempt }) => {
          calls.set(token, [...(calls.get(token) ?? []), attempt])
          const durable = JSON.parse(committedAt(broker)!.metadata)
          expect(durable.begun).toBe(attempt)
          if (toFail-- > 0) throw new Error('dependency away')
        })
        const crash = () => {
          if (left-- <= 0) throw new Crash()
        }
        const { running } = start(broker, { consumer, crash })
        await until(() => left < 0 || allDone(broker)(), 'crash or end')
        await (await running).close()
      }
      for (const { steps, failures } of lives) await count(failures, steps)
      await count(1, Number.POSITIVE_INFINITY)
      for (const begun of calls.values()) {
        expect(begun).toEqual([...new Set(begun)].toSorted((a, b) => a - b))
        expect(begun[0]).toBeGreaterThanOrEqual(1)
      }
    }),
    { numRuns: 60 },
  )
})

test('what handle said counts once, though it failed before it succeeded', async () => {
  const broker = memoryBroker(1, now)
  const table = sink()
  await broker.publish(['a', 'poison', 'c'].map(letter))
  let failures = 3
  const consumer = reader((batch) => {
    for (const { record, value } of batch.records) if (value === 'poison') batch.dead(record, 'poison')
    batch.dropped('because', 2)
    table.write(batch)
    if (failures-- > 0) throw new Error('dependency away')
  })
  const registry = await readToEnd(broker, { consumer })
  expect(await metric(registry, 'tributary_consumer_received_total')).toBe(3)
  expect(await metric(registry, 'tributary_consumer_written_total')).toBe(3)
  expect(await metric(registry, 'tributary_consumer_dropped_total')).toBe(2)
  expect(await metric(registry, 'tributary_consumer_dead_total')).toBe(1)
  expect(await metric(registry, 'tributary_consumer_failures_total')).toBe(3)
  const dead = broker.records(deadLetterTopic(topic).name, 0)
  expect(dead.map(({ value, headers }) => ({ value: value.toString(), headers }))).toEqual([
    {
      value: 'poison',
      headers: {
        reason: 'poison',
        consumer: group,
        first_seen_ms: String(now()),
        attempts: '1',
        source_topic: topic.name,
        source_partition: '0',
        source_offset: '1',
      },
    },
  ])
})

test('a batch is over only when its dead letters are durable', async () => {
  const broker = memoryBroker(1, now)
  const { publish } = broker
  await broker.publish([letter('!1'), letter('2')])
  let tries = 0
  broker.publish = async (records) => {
    tries += 1
    expect(committedAt(broker)).toMatchObject({ offset: 0 })
    if (tries < 3) throw new Error('log away')
    await publish(records)
  }
  await readToEnd(broker, { consumer: reader(() => {}) })
  const dead = broker.records(deadLetterTopic(topic).name, 0).map(({ value }) => value.toString())
  expect([tries, dead]).toEqual([3, ['!1']])
})

test('records whose values a consumer does not need are passed over, and committed with the others', async () => {
  const broker = memoryBroker(1, now)
  const table = sink()
  const wanted = (text: string) => ({ ...letter(text), headers: { wanted: 'yes' } })
  await broker.publish([letter('!1'), letter('2'), wanted('3'), letter('4'), wanted('!5'), wanted('6'), letter('7')])
  const consumer = { ...reader(table.write), needsValue: (headers: Record<string, string>) => headers.wanted === 'yes' }
  const registry = await readToEnd(broker, { consumer })
  expect(table.letters()).toEqual(['3', '6'])
  const dead = broker.records(deadLetterTopic(topic).name, 0).map(({ value }) => value.toString())
  expect(dead).toEqual(['!5'])
  expect(await metric(registry, 'tributary_consumer_received_total')).toBe(7)
})

test('a batch that takes long to decode holds up neither the process nor another partition', async () => {
  const broker = memoryBroker(2, now)
  const records = Array.from({ length: 40 }, (_, n) => letter(`${n}`))
  await broker.publish(records.flatMap((record) => [record, { ...record, partition: 1 }]))
  const seen: string[] = []
  const consumer = reader(({ partition }) => void seen.push(`handled ${partition}`))
  const { running } = start(broker, {
    consumer: {
      ...consumer,
      decode(record, source) {
        const until_ms = performance.now() + 2
        while (performance.now() < until_ms);
        if (seen.at(-1) !== `decoded ${record.partition}`) seen.push(`decoded ${record.partition}`)
        return consumer.decode(record, source)
      },
    },
  })
  const beat = setInterval(() => seen.push('beat'), 1)
  await until(() => seen.filter((what) => what.startsWith('handled')).length === 2, 'both partitions')
  clearInterval(beat)
  await (await running).close()
  const [first, second] = seen.filter((what) => what.startsWith('handled'))
  expect(seen.indexOf('beat')).toBeLessThan(seen.indexOf(first!))
  // The first is with its consumer long before the second is decoded.
  expect(seen.lastIndexOf(second!.replace('handled', 'decoded'))).toBeGreaterThan(seen.indexOf(first!))
})

test('closing does not wait for a dependency that is away', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish([letter('a')])
  let tried = 0
  const consumer = reader(() => {
    tried += 1
    throw new Error('dependency away')
  })
  const { running } = start(broker, { consumer, pauses: { first_ms: 60_000, most_ms: 60_000 } })
  await until(() => tried > 0, 'a first try')
  await (await running).close()
  expect(committedAt(broker)).toMatchObject({ offset: 0, metadata: expect.stringContaining('"to":0') })
})

test('a consumer whose topics are missing refuses to start', async () => {
  const broker = memoryBroker(1, now)
  const missing: MemoryBroker = {
    ...broker,
    partitionCount: async (name) => {
      if (name.endsWith('.dead')) throw new Error(`unknown topic ${name}`)
      return 1
    },
  }
  const { running } = start(missing, { consumer: reader(() => {}) })
  await expect(running).rejects.toThrow('unknown topic letters.sent.v1.dead')
})

test('each line of a consumer that stumbles names its consumer, topic and partition once', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish(['1', '!2'].map(letter))
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line.trim()) })
  let tries = 0
  const consumer = reader(() => {
    tries += 1
    if (tries === 1) throw new Error('dependency away')
  })
  const running = await start(broker, { consumer, logger }).running
  await until(allDone(broker), 'both letters')
  await running.close()
  const [first, ...rest] = lines.filter((line) => line.includes('will be tried again'))
  expect([JSON.parse(first!), rest]).toMatchObject([{ consumer: group, topic: topic.name, partition: 0 }, []])
  expect(lines.filter((line) => JSON.stringify(JSON.parse(line)) !== line)).toEqual([])
})

test('a consumer fetches by its own sizes, and by those of the kit otherwise', async () => {
  const asked: Partial<ConsumeOptions>[] = []
  for (const fetch of [{}, { bytes_min: 1 }, { wait_ms_max: 200 }]) {
    const broker = memoryBroker(1, now)
    const { consume } = broker
    broker.consume = (options) => {
      asked.push(options)
      return consume(options)
    }
    const { running } = start(broker, { consumer: { ...reader(() => {}), fetch } })
    await (await running).close()
  }
  expect(asked).toMatchObject([
    { bytes_min: 1024 * 1024, wait_ms_max: 500 },
    { bytes_min: 1, wait_ms_max: 500 },
    { bytes_min: 1024 * 1024, wait_ms_max: 200 },
  ])
})
