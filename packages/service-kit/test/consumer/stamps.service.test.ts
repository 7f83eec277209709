import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryStamps } from '@tributary/testing/twins/memory-stamps'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allDone, Crash, group, letter, now, reader, readToEnd, start, topic, until } from './letters.ts'

test('a batch that is found declared keeps its time of storing, on every try of every process', async () => {
  const broker = memoryBroker(1, now)
  const stamps = memoryStamps(now)
  const seen: number[] = []
  let failures = 3
  const consumer = {
    ...reader(({ stored_at_ms }) => {
      seen.push(stored_at_ms)
      if (failures-- > 0) throw new Error('dependency away')
    }),
    stamps,
  }
  await broker.publish([letter('a')])
  const dead = () => {
    throw new Crash()
  }
  const first = start(broker, { consumer, crash: (step) => (step === 3 ? dead() : undefined) })
  await until(() => seen.length > 3, 'the calls of the first process')
  await (await first.running).close()
  expect(stamps.seal()).toBe(seen[0])
  await readToEnd(broker, { consumer })
  expect(new Set(seen).size).toBe(1)
  expect(stamps.seal()).toBeGreaterThan(seen[0]!)
})

test('a batch whose process died before it said that it is over holds nothing back, although nothing else comes', async () => {
  const broker = memoryBroker(1, now)
  const stamps = memoryStamps(now)
  let stamp = 0
  const consumer = {
    ...reader(({ stored_at_ms }) => {
      stamp = stored_at_ms
    }),
    stamps,
  }
  await broker.publish([letter('a')])
  const dead = () => {
    throw new Crash()
  }
  const first = start(broker, { consumer, crash: (step) => (step === 5 ? dead() : undefined) })
  await until(() => stamp > 0 && allDone(broker)(), 'the batch')
  await (await first.running).close()
  expect(stamps.seal()).toBe(stamp)
  const { running } = start(broker, { consumer })
  await until(() => stamps.seal() > stamp, 'the end of the stamp')
  await (await running).close()
})

test('tables that lack rows begin an epoch, and another log does not', async () => {
  const broker = memoryBroker(1, now)
  const stamps = memoryStamps(now)
  let lacks = false
  const consumer = {
    ...reader(() => {}),
    stamps,
    findMisfit: async () => (lacks ? { reason: 'tables_lack_rows', reread: true } : null),
  }
  await broker.publish([letter('a')])
  await readToEnd(broker, { consumer })
  expect(stamps.epochs).toBe(0)
  lacks = true
  const { running } = start(broker, { consumer })
  await running
  lacks = false
  await until(allDone(broker), 'the second reading')
  await (await running).close()
  expect(stamps.epochs).toBe(1)
})

test('an offset that somebody moved begins an epoch: what the tables lack is stored again, later', async () => {
  const broker = memoryBroker(1, now)
  const stamps = memoryStamps(now)
  const consumer = { ...reader(() => {}), stamps }
  await broker.publish([letter('a'), letter('b')])
  await readToEnd(broker, { consumer })
  await broker.moveGroup(group, topic.name, [{ partition: 0, offset: 0 }])
  await readToEnd(broker, { consumer })
  expect(stamps.epochs).toBe(1)
})

test('whoever reads window after window has each row once, whatever process writes it, by whatever clock', async () => {
  /** Lives of a consumer by their steps, the steps of its clock, when somebody reads, and how the log is cut. */
  const plan = fc.record({
    lives: fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 4 }),
    clock: fc.array(fc.integer({ min: -5000, max: 5000 }), { minLength: 1, maxLength: 8 }),
    read_at: fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 12 }),
    chunk: fc.integer({ min: 1, max: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ lives, clock, read_at, chunk }) => {
      const broker = memoryBroker(1, now)
      broker.chunk_records_max = chunk
      await broker.publish(Array.from({ length: 8 }, (_, n) => letter(`${n}`)))
      let steps = 0
      let clock_ms = now()
      const stamps = memoryStamps(() => clock_ms)
      const rows = new Map<string, number>()
      const read: string[] = []
      let since_ms = 0
      const readWindow = () => {
        const until_ms = stamps.seal()
        for (const [row, at_ms] of rows) if (at_ms >= since_ms && at_ms < until_ms) read.push(row)
        expect(until_ms).toBeGreaterThanOrEqual(since_ms)
        since_ms = until_ms
      }
      const look = () => {
        clock_ms += clock[steps % clock.length]!
        steps += 1
        if (read_at.includes(steps)) readWindow()
      }
      const consumer = {
        ...reader(({ records, stored_at_ms }) => {
          for (const { value } of records) {
            look()
            expect(rows.get(value) ?? stored_at_ms).toBe(stored_at_ms)
            rows.set(value, stored_at_ms)
          }
        }),
        stamps,
      }
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
      // A stamp may be ahead of a clock that stepped back.
      clock_ms = Math.max(...rows.values()) + 1
      const { running } = start(broker, { consumer })
      await until(() => stamps.seal() > clock_ms, 'the end of all stamps')
      await (await running).close()
      readWindow()
      expect(read.toSorted()).toEqual([...rows.keys()].toSorted())
    }),
    { numRuns: 100 },
  )
})

test('a consumer without stamps stores at no time', async () => {
  const broker = memoryBroker(topic.partitions, now)
  const seen: number[] = []
  await broker.publish([letter('a')])
  await readToEnd(broker, { consumer: reader(({ stored_at_ms }) => void seen.push(stored_at_ms)) })
  expect(seen).toEqual([0])
})
