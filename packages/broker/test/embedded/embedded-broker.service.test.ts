import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Chunk, OutgoingRecord } from '@tributary/broker/broker'
import { type EmbeddedBroker, openEmbeddedBroker } from '@tributary/broker/embedded'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const topic = 'events.accepted.v1'
const hour_ms = 3_600_000
const start_ms = Date.UTC(2026, 0, 31)
const sizes = { bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 20 }

describe('the embedded log', () => {
  let dir: string
  let clock_ms: number
  let broker: EmbeddedBroker
  const open = async (partitions = 2) => {
    broker = await openEmbeddedBroker({ dir, now: () => clock_ms, partitions })
    await broker.applyTopics([{ name: topic, partitions: 12, retention_ms: hour_ms }])
  }
  beforeEach(async () => {
    clock_ms = start_ms
    dir = await mkdtemp(join(tmpdir(), 'tributary-log-'))
    await open()
  })
  afterEach(async () => {
    await broker.close()
    await rm(dir, { recursive: true, force: true })
  })

  const record = (text: string, partition = 0): OutgoingRecord => ({
    topic,
    partition,
    key: null,
    value: Buffer.from(text),
  })

  /** What a new group reads, until it has `count` records. */
  async function read(count: number, group: string = randomUUID()) {
    const chunks: Chunk[] = []
    const consumption = await broker.consume({
      group,
      topic,
      ...sizes,
      async onChunk(chunk) {
        chunks.push(chunk)
      },
    })
    const records = () => chunks.flatMap((chunk) => [...chunk.records])
    await vi.waitFor(() => expect(records().length).toBeGreaterThanOrEqual(count), { timeout: 180_000, interval: 5 })
    await consumption.close()
    return records()
  }

  /** Reads everything of one partition as `group` and commits up to `offset`. */
  async function commit(group: string, partition: number, offset: number) {
    const done = Promise.withResolvers<void>()
    const consumption = await broker.consume({
      group,
      topic,
      ...sizes,
      async onChunk(chunk) {
        if (chunk.partition === partition) done.resolve(chunk.commit(offset))
      },
    })
    await done.promise
    await consumption.close()
  }

  it('publishes all records of a call or none', async () => {
    await expect(broker.publish([record('lost'), record('x', 7)])).rejects.toThrow('partition')
    const large = { ...record(''), value: Buffer.alloc(1_000_001) }
    await expect(broker.publish([record('lost'), large])).rejects.toThrow('bytes')
    await expect(broker.publish([record('lost'), { ...record('x'), topic: 'other' }])).rejects.toThrow('unknown topic')
    await broker.publish([])
    await broker.publish([record('kept', 0), record('kept', 1)])
    const records = await read(2)
    expect(records.map(({ value, offset }) => [value.toString(), offset])).toEqual([
      ['kept', 0],
      ['kept', 0],
    ])
  })

  it('stamps records with its clock and numbers them without gaps, over restarts too', async () => {
    await broker.publish([record('a'), record('b')])
    await broker.close()
    clock_ms += 5000
    await open()
    await broker.publish([record('c')])
    const records = await read(3)
    expect(records.map(({ offset, timestamp_ms }) => [offset, timestamp_ms - start_ms])).toEqual([
      [0, 0],
      [1, 0],
      [2, 5000],
    ])
    expect((await broker.groupOffsets('g', topic))[0]).toMatchObject({ oldest_unread_ms: start_ms, end: 3 })
    expect((await broker.groupOffsets('g', topic, { dated: false }))[0]).toMatchObject({ oldest_unread_ms: null })
  })

  it('keeps the number of partitions that a folder was made with, for later topics as well', async () => {
    await broker.publish([record('before', 1)])
    await broker.close()
    const later = 'events.later.v1'
    await open(3)
    await broker.applyTopics([{ name: later, partitions: 12, retention_ms: hour_ms }])
    expect(await broker.partitionCount(topic)).toBe(2)
    expect(await broker.partitionCount(later)).toBe(2)
    expect((await read(1)).map(({ value }) => String(value))).toEqual(['before'])
  })

  it('refuses a definition with another number of partitions where none is forced, and says how to mend it', async () => {
    await broker.close()
    const unforced = await openEmbeddedBroker({ dir, now: Date.now })
    await expect(unforced.applyTopics([{ name: topic, partitions: 12, retention_ms: 1 }])).rejects.toThrow(/has 2/)
    await unforced.close()
    await open()
  })

  it('reads on across many blocks from any offset', async () => {
    const texts = Array.from({ length: 300 }, (_, n) => `${n} ${'x'.repeat(n % 50 === 0 ? 200_000 : 900)}`)
    for (let n = 0; n < texts.length; n += 60) await broker.publish(texts.slice(n, n + 60).map((text) => record(text)))
    for (const from of [1, 59, 60, 151, 299]) {
      const group = `from-${from}`
      await commit(group, 0, from)
      const records = await read(300 - from, group)
      expect(records.map(({ value }) => value.toString())).toEqual(texts.slice(from))
    }
  })

  it('waits for bytes_min and not longer than wait_ms_max', async () => {
    const chunks: Chunk[] = []
    const consumption = await broker.consume({
      group: 'g',
      topic,
      bytes_min: 1000,
      bytes_max: 1024 * 1024,
      // Without bytes_min being reached, nothing would come within this test.
      wait_ms_max: 600_000,
      async onChunk(chunk) {
        chunks.push(chunk)
      },
    })
    for (let n = 0; n < 9; n += 1) await broker.publish([record('x'.repeat(100))])
    await vi.waitFor(() => expect(chunks.length).toBeGreaterThan(0), { timeout: 180_000, interval: 5 })
    await consumption.close()
    const bytes = chunks[0]!.records.reduce((sum, { value }) => sum + value.length, 0)
    expect(bytes).toBeGreaterThanOrEqual(800)
  })

  it('deletes what is old once no group needs it, and keeps its numbers', async () => {
    await broker.publish([record('old 0'), record('old 1')])
    clock_ms += 2 * hour_ms
    expect(await broker.sweepRetention()).toBe(2)
    await broker.publish([record('new')])
    expect((await broker.groupOffsets('g', topic))[0]).toMatchObject({ earliest: 2, end: 3 })
    clock_ms += 2 * hour_ms
    expect(await broker.sweepRetention()).toBe(1)
    await broker.close()
    await open()
    expect((await broker.groupOffsets('g', topic))[0]).toMatchObject({ earliest: 3, end: 3 })
    await broker.publish([record('newest')])
    expect((await read(1)).map(({ offset }) => offset)).toEqual([3])
  })

  it('keeps what a group that ever committed has not committed, however old', async () => {
    for (const text of ['a', 'b', 'c']) await broker.publish([record(text, 0)])
    await commit('slow', 0, 1)
    await commit('fast', 0, 3)
    // Arrives where neither has committed: both need it from the start.
    await broker.publish([record('d', 1)])
    await broker.close()
    clock_ms += 90 * 24 * hour_ms
    await open()
    expect(await broker.sweepRetention()).toBe(1)
    expect((await read(2, 'slow')).map(({ value }) => value.toString()).sort()).toEqual(['b', 'c', 'd'])
    await commit('slow', 0, 3)
    expect(await broker.sweepRetention()).toBe(2)
  })

  it('keeps what a group reads again whose committed offset lies beyond the end', async () => {
    for (const text of ['a', 'b', 'c']) await broker.publish([record(text)])
    await commit('g', 0, 1000)
    clock_ms += 2 * hour_ms
    expect((await broker.groupOffsets('g', topic))[0]).toMatchObject({ committed: 1000, oldest_unread_ms: start_ms })
    expect(await broker.sweepRetention()).toBe(0)
    expect((await read(3, 'g')).map(({ value }) => value.toString())).toEqual(['a', 'b', 'c'])
  })

  it('finds the first record after a time among many blocks, and after what was deleted', async () => {
    for (let n = 0; n < 50; n += 1) {
      clock_ms = start_ms + n * 1000
      await broker.publish([record(`${n} a`), record(`${n} b`)])
    }
    for (const n of [0, 1, 24, 48]) expect(await broker.firstOffsetAfter(topic, 0, start_ms + n * 1000)).toBe(2 * n + 2)
    expect(await broker.firstOffsetAfter(topic, 0, start_ms + 10_999)).toBe(22)
    expect(await broker.firstOffsetAfter(topic, 0, start_ms - 1)).toBe(0)
    expect(await broker.firstOffsetAfter(topic, 0, clock_ms)).toBe(100)
    clock_ms = start_ms + hour_ms + 10_000
    expect(await broker.sweepRetention()).toBe(20)
    expect(await broker.firstOffsetAfter(topic, 0, start_ms)).toBe(20)
    expect(await broker.firstOffsetAfter(topic, 1, start_ms)).toBe(0)
  })

  it('keeps what is too young or shares a block with what is needed', async () => {
    await broker.publish([record('a'), record('b')])
    await commit('g', 0, 1)
    clock_ms += 2 * hour_ms
    await broker.publish([record('c')])
    expect(await broker.sweepRetention()).toBe(0)
    await commit('g', 0, 3)
    expect(await broker.sweepRetention()).toBe(2)
    expect((await read(1)).map(({ value }) => value.toString())).toEqual(['c'])
  })

  it('waits for the chunk in hand when its partition comes back meanwhile', async () => {
    await broker.publish([record('a', 1)])
    const gate = Promise.withResolvers<void>()
    const calls: Chunk[] = []
    const first = await broker.consume({
      group: 'g',
      topic,
      ...sizes,
      async onChunk(chunk) {
        calls.push(chunk)
        await gate.promise
      },
    })
    await vi.waitFor(() => expect(calls).toHaveLength(1), { timeout: 180_000 })
    // Takes partition 1 away, reads it, and gives it back.
    expect(await read(1, 'g')).toHaveLength(1)
    await broker.publish([record('b', 0)])
    await vi.waitFor(() => expect(calls).toHaveLength(2), { timeout: 180_000 })
    expect(calls.map(({ partition }) => partition)).toEqual([1, 0])
    gate.resolve()
    await vi.waitFor(() => expect(calls).toHaveLength(3), { timeout: 180_000 })
    await first.close()
    expect(calls[2]!.partition).toBe(1)
    expect(calls[2]!.generation).not.toBe(calls[0]!.generation)
    expect(calls[0]!.signal.aborted).toBe(true)
  })

  it('refuses commits that Kafka would refuse', async () => {
    await broker.publish([record('a')])
    const errors: unknown[] = []
    const consumption = await broker.consume({
      group: 'g',
      topic,
      ...sizes,
      async onChunk(chunk) {
        for (const commit of [chunk.commit(0, 'm'.repeat(4097)), chunk.commit(-1), chunk.commit(Number.NaN)]) {
          errors.push(await commit.catch((error) => error.name))
        }
      },
    })
    await vi.waitFor(() => expect(errors).toEqual(['RangeError', 'RangeError', 'RangeError']), { timeout: 180_000 })
    await consumption.close()
  })

  it('closes with consumers at work: their last chunk still publishes and commits', async () => {
    await broker.publish([record('a')])
    const inHand = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    await broker.consume({
      group: 'g',
      topic,
      ...sizes,
      async onChunk(chunk) {
        inHand.resolve()
        await gate.promise
        await broker.publish([record('dead letter', 1)])
        await chunk.commit(1)
      },
    })
    await inHand.promise
    const closing = broker.close()
    gate.resolve()
    await closing
    await open()
    const offsets = await broker.groupOffsets('g', topic)
    expect(offsets.map(({ committed, end }) => [committed, end])).toEqual([
      [1, 1],
      [null, 1],
    ])
  })

  it('counts what it made durable', async () => {
    await broker.close()
    const registry = new Registry()
    broker = await openEmbeddedBroker({ dir, now: () => clock_ms, registry, partitions: 2 })
    await broker.publish([record('a'), record('b', 1)])
    expect(await registry.metrics()).toContain('tributary_log_records_total 2')
  })
})
