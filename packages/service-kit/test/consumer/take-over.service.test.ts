import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import { expect, test } from 'vitest'
import {
  allDone,
  Crash,
  committedAt,
  group,
  letter,
  metric,
  misfitsOf,
  named,
  now,
  reader,
  readToEnd,
  sink,
  start,
  topic,
  until,
} from './letters.ts'

/** A process ends after it committed its intent for the records up to this offset, and before it handled them. */
async function dieWithIntent(broker: MemoryBroker, to: number): Promise<void> {
  const { running } = start(broker, {
    consumer: reader(() => {}),
    crash: (step) => {
      if (step >= 2) throw new Crash()
    },
  })
  await until(() => committedAt(broker)?.metadata.includes(`"to":${to}`) === true, 'the intent')
  await (await running).close()
}

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
  const second = await readToEnd(broker, { consumer: reader(table.write) })
  expect(named(table.batches)).toEqual([
    [`${topic.name}/0/0-4`, ['a', 'b', 'c', 'd', 'e']],
    [`${topic.name}/0/5-5`, ['f']],
    [`${topic.name}/0/6-6`, ['g']],
  ])
  expect(await metric(second, 'tributary_consumer_reprocessed_total')).toBe(5)
})

test('an intent that was lost in part to retention is left for a new log that has the rest, and counted as lost', async () => {
  const broker = memoryBroker(1, now)
  const table = sink()
  await broker.publish(['a', 'b', 'c', 'd'].map(letter))
  await dieWithIntent(broker, 3)
  broker.dropBelow(topic.name, 0, 2)
  const second = await readToEnd(broker, { consumer: reader(table.write) })
  expect(named(table.batches)).toEqual([[`${topic.name}/0/2-3`, ['c', 'd']]])
  expect(await metric(second, 'tributary_consumer_lost_total')).toBe(2)
  expect(await misfitsOf(second)).toEqual({ records_lost: 1 })
})

test('records that were gathered for an intent are handled though the log dropped them and more meanwhile', async () => {
  const broker = memoryBroker(1, now)
  const table = sink()
  await broker.publish(['a', 'b', 'c', 'd', 'e'].map(letter))
  await dieWithIntent(broker, 4)
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
  const second = await readToEnd(gathering, { consumer: reader(table.write) })
  expect(table.letters()).toEqual(['a', 'b', 'd', 'e'])
  expect(await misfitsOf(second)).toEqual({ records_lost: 1 })
})

test('a new identity of a log sorts behind the one before, also when the clock that named that one was ahead', async () => {
  const tomorrow = `${(Date.now() + 24 * 3600 * 1000).toString(36)}-ffffffffffff`
  for (const log of [tomorrow, 'by-hand', '']) {
    const broker = memoryBroker(1, now)
    await broker.publish(['a'].map(letter))
    broker.setCommitted(group, topic.name, 0, { offset: 9, metadata: JSON.stringify({ log, at_ms: 0 }) })
    await readToEnd(broker, { consumer: reader(() => {}) })
    const { log: next } = JSON.parse(committedAt(broker)!.metadata)
    expect(next > log, `${next} after ${log}`).toBe(true)
    expect(next).toMatch(/^[0-9a-z]{8}-[0-9a-f]{12}$/)
  }
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
  await readToEnd(deaf, { consumer: reader(table.write) })
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
