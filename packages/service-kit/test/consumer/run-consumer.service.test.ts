import { setTimeout as pause } from 'node:timers/promises'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { type Batch, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import { type RunConsumerOptions, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createMisfitTroubles } from '@tributary/service-kit/service/misfit-troubles'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import fc from 'fast-check'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'

const topic: Topic = { name: 'letters.sent.v1', partitions: 1, retention_ms: 1000 }
const now = () => 1_700_000_000_000
const group = 'letter-reader'

/** Remembers what arrived by token, as a table with idempotent inserts does. */
function sink() {
  const batches = new Map<string, string[]>()
  return {
    batches,
    /** Every letter that counts, in order of arrival. A second batch with a known token changes nothing. */
    letters: () => [...batches.values()].flat(),
    write(batch: Batch<string>) {
      const letters = batch.records.map(({ value }) => value)
      const before = batches.get(batch.token)
      if (before !== undefined) expect(letters, 'same token, same records').toEqual(before)
      batches.set(batch.token, letters)
      batch.written(letters.length)
    },
  }
}

const reader = (handle: (batch: Batch<string>) => void | Promise<void>) =>
  defineConsumer<string>({
    name: group,
    topic,
    decode(value) {
      const text = value.toString()
      if (text.startsWith('!')) throw new Error('unreadable')
      return text
    },
    async handle(batch) {
      await handle(batch)
    },
  })

const letter = (text: string) => ({ topic: topic.name, partition: 0, key: null, value: Buffer.from(text) })

function start(
  broker: MemoryBroker,
  options: Partial<RunConsumerOptions<string>> & Pick<RunConsumerOptions<string>, 'consumer'>,
) {
  const registry = new Registry()
  const running = runConsumer({
    broker,
    logger: pino({ level: 'silent' }),
    registry,
    now,
    pauses: { first_ms: 1, most_ms: 4 },
    ...options,
  })
  return { running, registry }
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 5000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`)
    await pause(1)
  }
}

const committedAt = (broker: MemoryBroker) => broker.committed(group, topic.name, 0)
const allDone = (broker: MemoryBroker) => () => broker.isDone(group, topic.name, 0)

/** Without the identity of the log, which is new each time. */
const named = (batches: Map<string, string[]>) =>
  [...batches].map(([token, letters]) => [token.replace(/^[^/]+\/([^/]+\/\d+)\/[^/]+/, '$1'), letters])

async function metric(registry: Registry, name: string): Promise<number> {
  const values = (await registry.getSingleMetric(name)?.get())?.values ?? []
  return values.reduce((sum, { value }) => sum + value, 0)
}

async function misfitsOf(registry: Registry): Promise<Record<string, number>> {
  const values = (await registry.getSingleMetric('tributary_consumer_misfits_total')?.get())?.values ?? []
  return Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]))
}

class Crash extends Error {}

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

test('an intent longer than one fetch is gathered and handled as the same batch', async () => {
  const broker = memoryBroker(1, now)
  const table = sink()
  await broker.publish(['a', 'b', 'c', 'd', 'e'].map(letter))
  const first = start(broker, {
    consumer: reader(table.write),
    crash: (step) => {
      if (step >= 4) throw new Crash()
    },
  })
  await until(() => table.batches.size === 1, 'the first batch')
  await (await first.running).close()
  await broker.publish(['f', 'g'].map(letter))
  broker.chunk_records_max = 2
  const second = start(broker, { consumer: reader(table.write) })
  await until(allDone(broker), 'the rest')
  await (await second.running).close()
  expect(named(table.batches)).toEqual([
    [`${topic.name}/0/0-4`, ['a', 'b', 'c', 'd', 'e']],
    [`${topic.name}/0/5-5`, ['f']],
    [`${topic.name}/0/6-6`, ['g']],
  ])
  expect(await metric(second.registry, 'tributary_consumer_reprocessed_total')).toBe(5)
})

test('an intent that was lost in part to retention is left for a new log that has the rest, and counted as lost', async () => {
  const broker = memoryBroker(1, now)
  const table = sink()
  await broker.publish(['a', 'b', 'c', 'd'].map(letter))
  const first = start(broker, {
    consumer: reader(() => {}),
    crash: (step) => {
      if (step >= 2) throw new Crash()
    },
  })
  await until(() => committedAt(broker)?.metadata.includes('"to":3') === true, 'the intent')
  await (await first.running).close()
  broker.dropBelow(topic.name, 0, 2)
  const second = start(broker, { consumer: reader(table.write) })
  await until(allDone(broker), 'the rest')
  await (await second.running).close()
  expect(named(table.batches)).toEqual([[`${topic.name}/0/2-3`, ['c', 'd']]])
  expect(await metric(second.registry, 'tributary_consumer_lost_total')).toBe(2)
  expect(await misfitsOf(second.registry)).toEqual({ records_lost: 1 })
})

test('records that were gathered for an intent are handled though the log dropped them and more meanwhile', async () => {
  const broker = memoryBroker(1, now)
  const table = sink()
  await broker.publish(['a', 'b', 'c', 'd', 'e'].map(letter))
  const first = start(broker, {
    consumer: reader(() => {}),
    crash: (step) => {
      if (step >= 2) throw new Crash()
    },
  })
  await until(() => committedAt(broker)?.metadata.includes('"to":4') === true, 'the intent')
  await (await first.running).close()
  broker.chunk_records_max = 2
  const gathering: MemoryBroker = {
    ...broker,
    consume: (options) =>
      broker.consume({
        ...options,
        async onChunk(chunk) {
          await options.onChunk(chunk)
          if (chunk.records[0]!.offset === 0) broker.dropBelow(topic.name, 0, 3)
        },
      }),
  }
  const second = start(gathering, { consumer: reader(table.write) })
  await until(allDone(broker), 'the rest')
  await (await second.running).close()
  expect(table.letters()).toEqual(['a', 'b', 'd', 'e'])
  expect(await misfitsOf(second.registry)).toEqual({ records_lost: 1 })
})

test('a log that is read again is reported once', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish(['a', 'b'].map(letter))
  const first = start(broker, { consumer: reader(() => {}) })
  await until(allDone(broker), 'all records')
  await (await first.running).close()
  const table = sink()
  const second = start(broker, { consumer: reader(table.write), reread: true })
  await until(() => table.letters().length === 2 && allDone(broker)(), 'the second reading')
  await (await second.running).close()
  expect(await misfitsOf(second.registry)).toEqual({ reread: 1 })
  broker.setCommitted(group, topic.name, 0, { offset: 0, metadata: '' })
  const third = start(broker, { consumer: reader(table.write) })
  await until(allDone(broker), 'the third reading')
  await (await third.running).close()
  expect(await misfitsOf(third.registry), 'moved by somebody else').toEqual({ offset_moved: 1 })
})

test('a commit that is lost has the batch handled again under the same token', async () => {
  const broker = memoryBroker(1, now)
  const table = sink()
  let lost = 0
  const deaf: MemoryBroker = {
    ...broker,
    consume: (options) =>
      broker.consume({
        ...options,
        onChunk: (chunk) =>
          options.onChunk({
            ...chunk,
            commit: async (offset, metadata) => {
              if (!metadata?.includes('"to":') && lost++ < 2) throw new Error('connection lost')
              await chunk.commit(offset, metadata)
            },
          }),
      }),
  }
  await broker.publish(['a', 'b'].map(letter))
  const { running } = start(deaf, { consumer: reader(table.write) })
  await until(allDone(broker), 'the commit')
  await (await running).close()
  expect(lost).toBeGreaterThan(2)
  expect(table.letters()).toEqual(['a', 'b'])
})

test('an owner that was fenced writes nothing that counts and leaves the rest to the next one', async () => {
  const broker = memoryBroker(1, now)
  const table = sink()
  await broker.publish(['a', 'b'].map(letter))
  let wake = () => {}
  const asleep = new Promise<void>((resolve) => {
    wake = resolve
  })
  let sleeping = false
  const sleeper = start(broker, {
    consumer: reader(async (batch) => {
      sleeping = true
      await asleep
      table.write(batch)
    }),
  })
  await until(() => sleeping, 'the sleeper holds the batch')
  const owner = start(broker, { consumer: reader(table.write) })
  await until(allDone(broker), 'the new owner')
  await broker.publish([letter('c')])
  await until(allDone(broker), 'the new owner goes on')
  wake()
  await (await sleeper.running).close()
  await (await owner.running).close()
  expect(table.letters()).toEqual(['a', 'b', 'c'])
  expect(committedAt(broker)?.offset).toBe(3)
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
  const { running, registry } = start(broker, { consumer })
  await until(allDone(broker), 'the batch')
  await (await running).close()
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

test('a batch that takes long to decode holds up neither the process nor another partition', async () => {
  const broker = memoryBroker(2, now)
  const records = Array.from({ length: 40 }, (_, n) => letter(`${n}`))
  await broker.publish(records.flatMap((record) => [record, { ...record, partition: 1 }]))
  const seen: string[] = []
  const consumer = reader(({ partition }) => void seen.push(`handled ${partition}`))
  const { running } = start(broker, {
    consumer: {
      ...consumer,
      decode(value, record, source) {
        const until_ms = performance.now() + 2
        while (performance.now() < until_ms);
        if (seen.at(-1) !== `decoded ${record.partition}`) seen.push(`decoded ${record.partition}`)
        return consumer.decode(value, record, source)
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

test('a partition that lacks rows is a trouble that names it and the command, until a replay has filled it', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish(['1', '2', '3'].map(letter))
  const table = sink()
  const first = await start(broker, { consumer: reader(table.write) }).running
  await until(allDone(broker), 'first reading')
  await first.close()
  const misfits = createMisfitTroubles({ tables_on_server: true })
  let lacks = true
  const consumer = {
    ...reader(table.write),
    findMisfit: async () => (lacks ? { reason: 'tables_lack_rows', reread: true } : null),
  }
  const second = await start(broker, { consumer, misfits }).running
  lacks = false
  await until(allDone(broker), 'second reading')
  await second.close()
  expect(misfits.troubles()).toEqual([
    {
      code: 'tables_lack_rows',
      message: expect.stringMatching(/^letter-reader, partition 0 of letters.sent.v1: .* \(committed 3, .* ends at 3,/),
      mend: expect.stringMatching(/npx tributary rebuild.*npx tributary replay --from-audit/),
      refuses: false,
    },
  ])
  misfits.filled()
  expect(misfits.troubles()).toEqual([])
})

test('a moved offset is a trouble only until what is behind it was read', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish(['1', '2', '3'].map(letter))
  const table = sink()
  const first = await start(broker, { consumer: reader(table.write) }).running
  await until(allDone(broker), 'first reading')
  await first.close()
  await broker.moveGroup(group, topic.name, [{ partition: 0, offset: 1 }])
  const misfits = createMisfitTroubles({ tables_on_server: false })
  let seen: string[] = []
  const look = () => {
    seen = misfits.troubles().map(({ code }) => code)
  }
  const second = await start(broker, { consumer: reader(look), misfits }).running
  await until(() => seen.length > 0 && misfits.troubles().length === 0, 'moved offset was read')
  await second.close()
  expect(seen).toEqual(['offset_moved'])
})

test.each(['offset_moved', 'log_ends_before', 'log_replaced', 'tables_lack_rows', 'tables_are_ahead', 'reread', 'new'])(
  'a misfit %s names its partition, what is known and a command',
  (reason) => {
    const misfits = createMisfitTroubles({ tables_on_server: false })
    misfits.found({ consumer: 'c', topic: 't', partition: 7, reason, committed: 5, next: -1, end: 4 })
    const [trouble] = misfits.troubles()
    expect(trouble).toMatchObject({ code: reason, mend: expect.stringContaining('npx tributary ') })
    expect(trouble!.message).toMatch(
      /partition 7 of t: .*committed 5, the log ends at 4, reading goes on at its beginning/,
    )
  },
)

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
