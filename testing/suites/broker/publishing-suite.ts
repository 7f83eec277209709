import { gzipSync } from 'node:zlib'
import { expect, it, vi } from 'vitest'
import { type LogUnderTest, patience, textsOf } from './log-under-test.ts'

/** Publishing: records come back unchanged and in order, and topics are made once. */
export function publishingSuite(log: LogUnderTest): void {
  it('gives records back as they were published', async () => {
    const before_ms = Date.now()
    const value = Buffer.from([0, 255, 128, 10, 13])
    await log.broker.publish([
      { topic: log.topic, partition: 1, key: 'ключ', value, headers: { reason: 'poison', größe: '12' } },
      { topic: log.topic, partition: 1, key: null, value: Buffer.alloc(0) },
    ])
    const { records, close } = await log.consume()
    await vi.waitFor(() => expect(records()).toHaveLength(2), patience)
    await close()
    expect(records()[0]).toMatchObject({
      topic: log.topic,
      partition: 1,
      key: 'ключ',
      headers: { reason: 'poison', größe: '12' },
    })
    expect(records()[0]!.value.equals(value)).toBe(true)
    expect(records()[1]).toMatchObject({ topic: log.topic, partition: 1, key: null, headers: {} })
    expect(records()[1]!.value).toHaveLength(0)
    for (const { timestamp_ms } of records()) {
      expect(timestamp_ms).toBeGreaterThan(before_ms - 60_000)
      expect(timestamp_ms).toBeLessThan(Date.now() + 60_000)
    }
  })

  it('keeps the order of a partition and loses nothing of many publishers', async () => {
    const publishers = Array.from({ length: 8 }, async (_, publisher) => {
      for (let n = 0; n < 25; n += 1) await log.publishTexts([`${publisher} ${n} a`, `${publisher} ${n} b`])
    })
    await Promise.all(publishers)
    const { records, close } = await log.consume()
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
    await log.broker.publish([log.record('x'.repeat(512 * 1024)), log.record('after')])
    const { records, close } = await log.consume()
    await vi.waitFor(() => expect(records()).toHaveLength(2), patience)
    await close()
    expect(records()[0]!.value).toHaveLength(512 * 1024)
  })

  it('refuses topics and partitions that do not exist', async () => {
    await expect(log.broker.publish([{ ...log.record('lost'), topic: `${log.topic}.other` }])).rejects.toThrow()
    await expect(log.broker.publish([log.record('lost', 2)])).rejects.toThrow()
    await expect(log.broker.partitionCount(`${log.topic}.other`)).rejects.toThrow()
  })

  it('makes a topic once, returns changed settings, and refuses another partition count', async () => {
    await log.publishTexts(['kept'])
    const other = `${log.topic}.other`
    const longer = [log.topic, other].map((name) => ({ name, partitions: 2, retention_ms: 7_200_000 }))
    const changed = [{ topic: log.topic, setting: 'retention.ms', from: '3600000', to: '7200000' }]
    expect(await log.broker.applyTopics(longer, { dryRun: true })).toEqual({ created: [other], changed, unchanged: [] })
    await expect(log.broker.partitionCount(other)).rejects.toThrow()
    expect(await log.broker.applyTopics(longer)).toEqual({ created: [other], changed, unchanged: [] })
    expect(await log.broker.partitionCount(other)).toBe(2)
    expect(await log.broker.applyTopics(longer)).toEqual({ created: [], changed: [], unchanged: [log.topic, other] })
    const torn = [`${log.topic}.never`, log.topic].map((name) => ({ name, partitions: 3, retention_ms: 1 }))
    await expect(log.broker.applyTopics(torn)).rejects.toMatchObject({ code: 'topic_differs' })
    await expect(log.broker.partitionCount(`${log.topic}.never`)).rejects.toThrow()
    expect(await log.broker.partitionCount(log.topic)).toBe(2)
    expect((await log.broker.groupOffsets(log.group, log.topic))[0]).toMatchObject({ earliest: 0, committed: null })
  })

  it('gives a packed value back whole, among others, and counts its whole bytes in a chunk', async () => {
    const whole = (n: number) => Buffer.from(`head ${n}:${'ü'.repeat(10_000)}:tail`)
    const packed = (n: number) => {
      const [head, tail] = [Buffer.from(`head ${n}`), Buffer.from(':tail')]
      const middle = whole(n).subarray(head.length, -tail.length)
      const value = { head, gzip: gzipSync(middle), inflated_bytes: middle.length, tail }
      return { topic: log.topic, partition: 0, key: `k${n}`, value }
    }
    await log.broker.publish([
      log.record('first'),
      packed(1),
      packed(2),
      { ...log.record('last'), headers: { a: 'b' } },
    ])
    for (const n of [3, 4, 5]) await log.broker.publish([packed(n)])
    const { taken, records, close } = await log.consume(undefined, { bytes_max: 50_000 })
    await vi.waitFor(() => expect(records()).toHaveLength(7), patience)
    await close()
    const wanted = ['first', ...[1, 2].map((n) => `${whole(n)}`), 'last', ...[3, 4, 5].map((n) => `${whole(n)}`)]
    expect(textsOf(records())).toEqual(wanted)
    expect(records().map(({ headers }) => headers)).toEqual([{}, {}, {}, { a: 'b' }, {}, {}, {}])
    expect(records().map(({ key }) => key)).toEqual([null, 'k1', 'k2', null, 'k3', 'k4', 'k5'])
    expect(taken.length).toBeGreaterThan(1)
  })

  it('gives records whose values nobody needs without them, in their places', async () => {
    const packed = { head: Buffer.from('head'), gzip: gzipSync('middle'), inflated_bytes: 6, tail: Buffer.from('tail') }
    // This is no gzip: nobody can inflate it.
    const broken = { ...packed, gzip: Buffer.from('no gzip') }
    const headed = (facts: string, value: Buffer | typeof packed) => ({ ...log.record(''), value, headers: { facts } })
    await log.broker.publish([
      ...[headed('0', Buffer.from('left out')), headed('1', Buffer.from('needed'))],
      ...[headed('0', broken), headed('1', packed), log.record('without a header')],
    ])
    const needsValue = ({ facts }: Readonly<Record<string, string>>) => facts !== '0'
    const { records, close } = await log.consume(undefined, { needsValue })
    await vi.waitFor(() => expect(records()).toHaveLength(5), patience)
    await close()
    expect(textsOf(records())).toEqual(['', 'needed', '', 'headmiddletail', 'without a header'])
    const kept = records().map(({ headers }) => headers)
    expect(kept).toEqual([{ facts: '0' }, { facts: '1' }, { facts: '0' }, { facts: '1' }, {}])
    expect(records().map(({ offset }) => offset)).toEqual(records().map((_, n) => records()[0]!.offset + n))
  })
}
