import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type Broker, type Chunk, FencedError, type LogRecord, type OutgoingRecord } from '@tributary/broker/broker'
import { lagOf } from '@tributary/broker/unread'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

/** One log that can be opened again and again; `open` rejects or waits when the engine allows one opener only. */
export interface BrokerUnderTest {
  open(): Promise<Broker>
  dispose(): Promise<void>
}

const patience = { timeout: 40_000, interval: 10 }
const sizes = { bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 50 }

/**
 * What every event log promises (broker.ts). Holds for Kafka too: offsets may have gaps, time is real, and a partition
 * may take seconds to change hands.
 */
export function brokerSuite(name: string, start: () => Promise<BrokerUnderTest>): void {
  describe(`${name} keeps the promises of an event log`, { timeout: 120_000 }, () => {
    let log: BrokerUnderTest
    let broker: Broker
    let topic: string
    let group: string

    beforeEach(async () => {
      log = await start()
      broker = await log.open()
      topic = `tests.run.${randomUUID()}`
      group = `group-${randomUUID()}`
      await broker.applyTopics([{ name: topic, partitions: 2, retention_ms: 3_600_000 }])
    })
    afterEach(async () => {
      await broker.close()
      await log.dispose()
    })

    const record = (text: string, partition = 0): OutgoingRecord => ({
      topic,
      partition,
      key: null,
      value: Buffer.from(text),
    })
    const publishTexts = (texts: string[], partition = 0) =>
      broker.publish(texts.map((text) => record(text, partition)))
    const textsOf = (records: readonly LogRecord[]) => records.map(({ value }) => value.toString())

    /** Consumes with `onChunk`, keeping the chunks that were taken. */
    async function consume(onChunk: (chunk: Chunk) => Promise<void> = async () => {}, options = {}) {
      const taken: Chunk[] = []
      const consumption = await broker.consume({
        group,
        topic,
        ...sizes,
        ...options,
        async onChunk(chunk) {
          await onChunk(chunk)
          taken.push(chunk)
        },
      })
      const records = () => taken.flatMap((chunk) => [...chunk.records])
      return { ...consumption, taken, records }
    }
    const commitAll = (chunk: Chunk) => chunk.commit(chunk.records.at(-1)!.offset + 1)

    it('gives records back as they were published', async () => {
      const before_ms = Date.now()
      const value = Buffer.from([0, 255, 128, 10, 13])
      await broker.publish([
        { topic, partition: 1, key: 'ключ', value, headers: { reason: 'poison', größe: '12' } },
        { topic, partition: 1, key: null, value: Buffer.alloc(0) },
      ])
      const { records, close } = await consume()
      await vi.waitFor(() => expect(records()).toHaveLength(2), patience)
      await close()
      expect(records()[0]).toMatchObject({
        topic,
        partition: 1,
        key: 'ключ',
        headers: { reason: 'poison', größe: '12' },
      })
      expect(records()[0]!.value.equals(value)).toBe(true)
      expect(records()[1]).toMatchObject({ topic, partition: 1, key: null, headers: {} })
      expect(records()[1]!.value).toHaveLength(0)
      for (const { timestamp_ms } of records()) {
        expect(timestamp_ms).toBeGreaterThan(before_ms - 60_000)
        expect(timestamp_ms).toBeLessThan(Date.now() + 60_000)
      }
    })

    it('keeps the order of a partition and loses nothing of many publishers', async () => {
      const publishers = Array.from({ length: 8 }, async (_, publisher) => {
        for (let n = 0; n < 25; n += 1) await publishTexts([`${publisher} ${n} a`, `${publisher} ${n} b`])
      })
      await Promise.all(publishers)
      const { records, close } = await consume()
      await vi.waitFor(() => expect(records()).toHaveLength(400), patience)
      await close()
      const offsets = records().map(({ offset }) => offset)
      expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b))
      for (let publisher = 0; publisher < 8; publisher += 1) {
        const own = textsOf(records()).filter((text) => text.startsWith(`${publisher} `))
        const expected = Array.from({ length: 25 }, (_, n) => [`${publisher} ${n} a`, `${publisher} ${n} b`]).flat()
        expect(own).toEqual(expected)
      }
    })

    it('holds a record of half a megabyte', async () => {
      await broker.publish([record('x'.repeat(512 * 1024)), record('after')])
      const { records, close } = await consume()
      await vi.waitFor(() => expect(records()).toHaveLength(2), patience)
      await close()
      expect(records()[0]!.value).toHaveLength(512 * 1024)
    })

    it('refuses topics and partitions that are not there', async () => {
      await expect(broker.publish([{ ...record('lost'), topic: `${topic}.other` }])).rejects.toThrow()
      await expect(broker.publish([record('lost', 2)])).rejects.toThrow()
      await expect(broker.partitionCount(`${topic}.other`)).rejects.toThrow()
    })

    it('makes a topic once, says what differed, and refuses another partition count', async () => {
      await publishTexts(['kept'])
      const other = `${topic}.other`
      const longer = [topic, other].map((name) => ({ name, partitions: 2, retention_ms: 7_200_000 }))
      const changed = [{ topic, setting: 'retention.ms', from: '3600000', to: '7200000' }]
      expect(await broker.applyTopics(longer, { dryRun: true })).toEqual({ created: [other], changed, unchanged: [] })
      await expect(broker.partitionCount(other)).rejects.toThrow()
      expect(await broker.applyTopics(longer)).toEqual({ created: [other], changed, unchanged: [] })
      expect(await broker.partitionCount(other)).toBe(2)
      expect(await broker.applyTopics(longer)).toEqual({ created: [], changed: [], unchanged: [topic, other] })
      const torn = [`${topic}.never`, topic].map((name) => ({ name, partitions: 3, retention_ms: 1 }))
      await expect(broker.applyTopics(torn)).rejects.toMatchObject({ code: 'topic_differs' })
      await expect(broker.partitionCount(`${topic}.never`)).rejects.toThrow()
      expect(await broker.partitionCount(topic)).toBe(2)
      expect((await broker.groupOffsets(group, topic))[0]).toMatchObject({ earliest: 0, committed: null })
    })

    it('starts at the earliest record, and after a restart where the group has committed', async () => {
      await publishTexts(['a', 'b', 'c'])
      const first = await consume((chunk) => chunk.commit(chunk.records[0]!.offset + 1, '{"to":"ü"}'))
      await vi.waitFor(() => expect(first.taken.length).toBeGreaterThan(0), patience)
      const committed = first.taken[0]!.records[0]!.offset + 1
      await first.close()
      expect(textsOf(first.records())[0]).toBe('a')
      await broker.close()
      broker = await log.open()

      const seen: unknown[] = []
      const second = await consume(async (chunk) => void seen.push(await chunk.committed()))
      await vi.waitFor(() => expect(second.records()).toHaveLength(2), patience)
      await second.close()
      expect(seen[0]).toEqual({ offset: committed, metadata: '{"to":"ü"}' })
      expect(textsOf(second.records())).toEqual(['b', 'c'])
    })

    it('commits nothing but what is committed', async () => {
      await publishTexts(['a', 'b'])
      const first = await consume()
      await vi.waitFor(() => expect(first.records()).toHaveLength(2), patience)
      expect(await first.taken[0]!.committed()).toBeNull()
      await first.close()
      expect((await broker.groupOffsets(group, topic)).map(({ committed }) => committed)).toEqual([null, null])
      const second = await consume()
      await vi.waitFor(() => expect(textsOf(second.records())).toEqual(['a', 'b']), patience)
      await second.close()
    })

    it('keeps 4096 bytes of metadata', async () => {
      await publishTexts(['a'])
      const metadata = 'm'.repeat(4096)
      const { taken, close } = await consume((chunk) => chunk.commit(chunk.records[0]!.offset, metadata))
      await vi.waitFor(() => expect(taken).toHaveLength(1), patience)
      expect((await taken[0]!.committed())?.metadata).toBe(metadata)
      await close()
    })

    it('delivers a refused chunk again, and meanwhile the other partitions', async () => {
      await publishTexts(['bad', 'next'], 0)
      const refused: string[][] = []
      const { records, close } = await consume(async (chunk) => {
        if (chunk.partition === 0 && refused.length < 3) {
          refused.push(textsOf(chunk.records))
          if (refused.length === 1) await publishTexts(['good'], 1)
          throw new Error('not now')
        }
      })
      await vi.waitFor(() => expect(records()).toHaveLength(3), patience)
      await close()
      for (const texts of refused) expect(texts[0]).toBe('bad')
      expect(textsOf(records().filter(({ partition }) => partition === 0))).toEqual(['bad', 'next'])
    })

    it('calls once at a time per partition', async () => {
      let running = 0
      let most = 0
      const { records, close } = await consume(
        async () => {
          running += 1
          most = Math.max(most, running)
          await new Promise((resolve) => setTimeout(resolve, 5))
          running -= 1
        },
        { bytes_max: 60 },
      )
      for (let n = 0; n < 20; n += 1) await publishTexts([`${n}`])
      await vi.waitFor(() => expect(records()).toHaveLength(20), patience)
      await close()
      expect(most).toBe(1)
      expect(textsOf(records())).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`))
    })

    it('gives a packed value back whole, among others, and counts its whole bytes in a chunk', async () => {
      const whole = (n: number) => Buffer.from(`head ${n}:${'ü'.repeat(10_000)}:tail`)
      const packed = (n: number) => {
        const [head, tail] = [Buffer.from(`head ${n}`), Buffer.from(':tail')]
        const middle = whole(n).subarray(head.length, -tail.length)
        const value = { head, gzip: gzipSync(middle), inflated_bytes: middle.length, tail }
        return { topic, partition: 0, key: `k${n}`, value }
      }
      await broker.publish([record('first'), packed(1), packed(2), { ...record('last'), headers: { a: 'b' } }])
      for (const n of [3, 4, 5]) await broker.publish([packed(n)])
      const { taken, records, close } = await consume(undefined, { bytes_max: 50_000 })
      await vi.waitFor(() => expect(records()).toHaveLength(7), patience)
      await close()
      const wanted = ['first', ...[1, 2].map((n) => `${whole(n)}`), 'last', ...[3, 4, 5].map((n) => `${whole(n)}`)]
      expect(textsOf(records())).toEqual(wanted)
      expect(records().map(({ headers }) => headers)).toEqual([{}, {}, {}, { a: 'b' }, {}, {}, {}])
      expect(records().map(({ key }) => key)).toEqual([null, 'k1', 'k2', null, 'k3', 'k4', 'k5'])
      expect(taken.length).toBeGreaterThan(1)
    })

    it('bounds chunks by bytes, yet delivers a record above the bound', async () => {
      for (let n = 0; n < 6; n += 1) await publishTexts([`${n}`.repeat(n === 3 ? 50_000 : 10_000)])
      const { taken, records, close } = await consume(undefined, { bytes_max: 25_000 })
      await vi.waitFor(() => expect(records()).toHaveLength(6), patience)
      await close()
      expect(taken.length).toBeGreaterThan(1)
      expect(records().map(({ value }) => value.length)).toEqual([10_000, 10_000, 10_000, 50_000, 10_000, 10_000])
    })

    it('goes on with a partition while another one has in hand all that may be held', async () => {
      const texts = Array.from({ length: 20 }, (_, n) => `${n} ${'x'.repeat(5000)}`)
      for (const partition of [0, 1]) await publishTexts(texts, partition)
      const gate = Promise.withResolvers<void>()
      const { records, close } = await consume(
        ({ partition }) => (partition === 0 ? gate.promise : Promise.resolve()),
        {
          bytes_max: 20_000,
          bytes_total_max: 20_000,
        },
      )
      const textsOfPartition = (wanted: number) => textsOf(records().filter(({ partition }) => partition === wanted))
      await vi.waitFor(() => expect(textsOfPartition(1)).toEqual(texts), patience)
      gate.resolve()
      await vi.waitFor(() => expect(textsOfPartition(0)).toEqual(texts), patience)
      await close()
    })

    it('does not keep a lone record back for ever', async () => {
      const { records, close } = await consume(undefined, { bytes_min: 1024 * 1024, wait_ms_max: 200 })
      await publishTexts(['alone'])
      await vi.waitFor(() => expect(textsOf(records())).toEqual(['alone']), patience)
      await close()
    })

    it('says where the partition ended', async () => {
      await publishTexts(['a', 'b', 'c'])
      const { taken, close } = await consume()
      await vi.waitFor(() => expect(taken.length).toBeGreaterThan(0), patience)
      await close()
      const [partition] = await broker.groupOffsets(group, topic)
      expect(taken[0]!.end_offset).toBe(partition!.end)
    })

    it('gives each group everything', async () => {
      await publishTexts(['a'])
      const mine = await consume(commitAll)
      const other = await consume(commitAll, { group: `${group}-other` })
      await vi.waitFor(() => expect(textsOf(mine.records())).toEqual(['a']), patience)
      await vi.waitFor(() => expect(textsOf(other.records())).toEqual(['a']), patience)
      await Promise.all([mine.close(), other.close()])
    })

    it('shares partitions among members, and gives them back in a new generation', async () => {
      const first = await consume(commitAll)
      await publishTexts(['a'], 0)
      await publishTexts(['b'], 1)
      await vi.waitFor(() => expect(first.records()).toHaveLength(2), patience)
      const second = await consume(commitAll)
      await vi.waitFor(async () => {
        await publishTexts(['c'], 0)
        await publishTexts(['d'], 1)
        expect(second.taken.length).toBeGreaterThan(0)
      }, patience)
      const moved = second.taken[0]!.partition
      const lost = first.taken.find(({ partition }) => partition === moved)!
      expect(lost.signal.aborted).toBe(true)
      await second.close()
      await publishTexts(['last'], moved)
      await vi.waitFor(() => expect(textsOf(first.records())).toContain('last'), patience)
      await first.close()
      const back = first.taken.find(({ records }) => textsOf(records).includes('last'))!
      expect(new Set([lost.generation, second.taken[0]!.generation, back.generation]).size).toBe(3)
    })

    it('fences the commit and the rewind of a member that lost its partition', async () => {
      await publishTexts(['a'], 0)
      await publishTexts(['a'], 1)
      const inHand: Chunk[] = []
      const gate = Promise.withResolvers<void>()
      const first = await consume(async (chunk) => {
        inHand.push(chunk)
        await gate.promise
      })
      await vi.waitFor(() => expect(inHand).toHaveLength(2), patience)
      const second = await consume((chunk) => chunk.commit(chunk.records[0]!.offset, 'of the new owner'))
      await vi.waitFor(() => expect(second.taken.length).toBeGreaterThan(0), patience)
      const [taken] = second.taken
      const lost = inHand.find(({ partition }) => partition === taken!.partition)!
      expect(textsOf(taken!.records)).toEqual(['a'])
      await expect(lost.commit(lost.records[0]!.offset + 1, 'of the old owner')).rejects.toBeInstanceOf(FencedError)
      await expect(lost.rewind(0)).rejects.toBeInstanceOf(FencedError)
      expect((await taken!.committed())?.metadata).toBe('of the new owner')
      gate.resolve()
      await Promise.all([first.close(), second.close()])
    })

    it('lets the chunk in hand finish and commit before it closes', async () => {
      await publishTexts(['a'])
      const gate = Promise.withResolvers<void>()
      let chunkInHand: Chunk | undefined
      const consumption = await consume(async (chunk) => {
        chunkInHand = chunk
        await gate.promise
        await commitAll(chunk)
      })
      await vi.waitFor(() => expect(chunkInHand).toBeDefined(), patience)
      const closing = consumption.close()
      await vi.waitFor(() => expect(chunkInHand!.signal.aborted).toBe(true), patience)
      gate.resolve()
      await closing
      const [partition] = await broker.groupOffsets(group, topic)
      expect(partition!.committed).toBe(chunkInHand!.records.at(-1)!.offset + 1)
    })

    it('tells what a group has not read', async () => {
      await publishTexts(['a', 'b'])
      const [before, empty] = await broker.groupOffsets(group, topic)
      expect(before).toMatchObject({ partition: 0, committed: null, earliest: 0 })
      expect(before!.end).toBeGreaterThanOrEqual(2)
      expect(before!.oldest_unread_ms).toBeGreaterThan(Date.now() - 60_000)
      expect(empty).toEqual({
        partition: 1,
        committed: null,
        metadata: null,
        earliest: 0,
        end: 0,
        oldest_unread_ms: null,
      })
      const { records, close } = await consume(commitAll)
      await vi.waitFor(() => expect(records()).toHaveLength(2), patience)
      await close()
      const [after] = await broker.groupOffsets(group, topic)
      expect(after).toMatchObject({ committed: before!.end, end: before!.end, oldest_unread_ms: null })
    })

    it('moves a group that nobody is in, and refuses to move one with members', async () => {
      await publishTexts(['a', 'b'], 0)
      await broker.moveGroup(group, topic, [{ partition: 0, offset: 1 }])
      const [offsets] = await broker.groupOffsets(group, topic)
      expect(offsets).toMatchObject({ committed: 1, metadata: '' })
      const reader = await consume(commitAll)
      await vi.waitFor(() => expect(textsOf(reader.records())).toEqual(['b']), patience)
      await expect(broker.moveGroup(group, topic, [{ partition: 0, offset: 0 }])).rejects.toThrow()
      await reader.close()
    })

    it('finds the first record that the log took after a time', async () => {
      const { records, close } = await consume()
      await vi.waitFor(async () => {
        await publishTexts(['a', 'b'])
        expect(new Set(records().map(({ timestamp_ms }) => timestamp_ms)).size).toBeGreaterThan(2)
      }, patience)
      await close()
      const all = records()
      const { timestamp_ms: first_ms } = all[0]!
      for (const time_ms of new Set([0, first_ms - 1, ...all.slice(0, -2).map(({ timestamp_ms }) => timestamp_ms)])) {
        const later = all.find(({ timestamp_ms }) => timestamp_ms > time_ms)
        if (later !== undefined) expect(await broker.firstOffsetAfter(topic, 0, time_ms)).toBe(later.offset)
      }
      const [{ end } = { end: -1 }] = await broker.groupOffsets(group, topic)
      expect(await broker.firstOffsetAfter(topic, 0, Date.now() + 60_000)).toBe(end)
      expect(await broker.firstOffsetAfter(topic, 1, 0)).toBe(0)
      await expect(broker.firstOffsetAfter(topic, 2, 0)).rejects.toThrow('no partition 2')
    })

    it('reads everything again in order after a rewind, and goes on, while more is published', async () => {
      const published = Array.from({ length: 30 }, (_, n) => `${n} ${'x'.repeat(1000)}`)
      await publishTexts(published)
      let stopped = false
      const publishing = (async () => {
        for (let n = 30; !stopped; n += 1) {
          const text = `${n} ${'x'.repeat(1000)}`
          await publishTexts([text])
          published.push(text)
        }
      })()
      const rewinds: number[] = []
      const delivered: LogRecord[] = []
      const { close } = await consume(
        async (chunk) => {
          const last = chunk.records.at(-1)!.offset
          if (last >= 20 * (rewinds.length + 1) && rewinds.length < 3) {
            rewinds.push(delivered.length)
            await chunk.rewind(0)
            throw new Error('read again')
          }
          delivered.push(...chunk.records)
          await commitAll(chunk)
        },
        { bytes_max: 10_000 },
      )
      await vi.waitFor(() => expect(rewinds).toHaveLength(3), patience)
      const before = delivered.length
      await vi.waitFor(() => expect(delivered.length).toBeGreaterThan(before + 100), patience)
      stopped = true
      await publishing
      await vi.waitFor(() => expect(textsOf(delivered.slice(-1))).toEqual(published.slice(-1)), patience)
      await close()
      const runs = [0, ...rewinds].map((from, n) => textsOf(delivered.slice(from, rewinds[n])))
      for (const run of runs) expect(run).toEqual(published.slice(0, run.length))
      expect(runs.at(-1)).toEqual(published)
    })

    it('reads from the earliest record when more was committed than the log holds, and keeps what was committed', async () => {
      await publishTexts(['a', 'b'])
      const lost = await consume((chunk) => chunk.commit(1000, 'intent'))
      await vi.waitFor(() => expect(lost.records()).toHaveLength(2), patience)
      await lost.close()
      const [offsets] = await broker.groupOffsets(group, topic)
      expect(offsets).toMatchObject({ committed: 1000, earliest: 0, end: 2 })
      expect(lagOf(offsets!)).toBe(2)
      expect(offsets!.oldest_unread_ms).toBeGreaterThan(Date.now() - 60_000)
      for (const texts of [
        ['a', 'b'],
        ['a', 'b', 'c'],
      ]) {
        const seen: unknown[] = []
        const again = await consume(async (chunk) => {
          seen.push(await chunk.committed())
        })
        await vi.waitFor(() => expect(textsOf(again.records())).toEqual(texts), patience)
        expect(again.taken.at(-1)!.end_offset).toBe(texts.length)
        await publishTexts(['c'])
        await vi.waitFor(() => expect(textsOf(again.records())).toEqual([...texts, 'c']), patience)
        await again.close()
        expect(new Set(seen.map((committed) => JSON.stringify(committed)))).toEqual(
          new Set([JSON.stringify({ offset: 1000, metadata: 'intent' })]),
        )
      }
    })

    it('rewinds into what the log holds, and refuses what is no offset', async () => {
      await publishTexts(['a', 'b'])
      const refused: unknown[] = []
      const { records, close } = await consume(async (chunk) => {
        if (refused.length > 0) return
        refused.push(await chunk.rewind(-1).catch((error: unknown) => error))
        await chunk.rewind(1000)
        throw new Error('read again')
      })
      await vi.waitFor(() => expect(textsOf(records())).toEqual(['a', 'b']), patience)
      await close()
      expect(refused).toEqual([expect.any(RangeError)])
    })

    it('is healthy while it is open, and takes nothing afterwards', async () => {
      await broker.checkHealth()
      await broker.close()
      await expect(broker.checkHealth()).rejects.toThrow()
      await expect(publishTexts(['lost'])).rejects.toThrow()
    })
  })
}
