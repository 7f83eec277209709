import type { EachBatchPayload } from 'kafkajs'
import { describe, expect, it, vi } from 'vitest'
import type { NeedsValue } from '../../../src/broker.ts'
import { createPartitionQueue } from '../../../src/kafka/consume/kafka-queue.ts'
import { createBudget } from '../../../src/kafka/kafka-budget.ts'

const bytes_max = 10

/** A queue whose handler ends when the test says so, before a kafkajs that remembers what it was told. */
function start({
  begin = 0,
  former = Promise.resolve(),
  budget = createBudget(1000),
  needsValue = undefined as NeedsValue | undefined,
} = {}) {
  const stop = new AbortController()
  const kafkajs = { position: begin, paused: false }
  const backwards: { next: number; found: number }[] = []
  const chunks: { texts: string[]; end(error?: Error): void }[] = []
  const queue = createPartitionQueue({
    start: begin,
    bytes_max,
    budget,
    signal: stop.signal,
    former,
    needsValue,
    seek(offset) {
      kafkajs.position = offset
    },
    unpack: async (records) => [...records],
    deliver(records) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const end = (error?: Error) => (error === undefined ? resolve() : reject(error))
      chunks.push({ texts: records.map(({ value }) => value.toString()), end })
      return promise
    },
    onRefused: () => {},
    onBackwards: (next, found) => backwards.push({ next, found }),
  })
  /** What a fetch from this offset on brings, one record an offset. */
  const fetched = (from: number, ...texts: string[]) => {
    const messages = texts.map((text, n) => ({ offset: `${from + n}`, timestamp: '0', value: Buffer.from(text) }))
    const payload = {
      batch: {
        ...{ topic: 't', partition: 0, highWatermark: '100', fetchedOffset: `${from}`, messages },
        lastOffset: () => `${from + texts.length - 1}`,
      },
      resolveOffset(offset: string) {
        kafkajs.position = Number(offset) + 1
      },
      pause() {
        kafkajs.paused = true
        return () => {
          kafkajs.paused = false
        }
      },
    }
    queue.take(payload as unknown as EachBatchPayload)
    return kafkajs.position
  }
  const delivered = (count: number) =>
    vi.waitFor(() => expect(chunks).toHaveLength(count), { timeout: 180_000, interval: 1 })
  return { queue, stop, kafkajs, backwards, chunks, fetched, delivered }
}

describe('the queue between kafkajs and the handler of a partition', () => {
  it('takes on while the handler works, and hands over together what came meanwhile', async () => {
    const { kafkajs, chunks, fetched, delivered } = start()
    fetched(0, 'a')
    await delivered(1)
    fetched(1, 'b', 'c')
    fetched(3, 'd')
    expect(kafkajs.position).toBe(4)
    chunks[0]!.end()
    await delivered(2)
    expect(chunks.map(({ texts }) => texts)).toEqual([['a'], ['b', 'c', 'd']])
  })

  it('drops at once what nobody needs, and lets no more of it wait than a chunk may hold', async () => {
    const { kafkajs, chunks, fetched, delivered } = start({ needsValue: () => false })
    fetched(0, 'a')
    await delivered(1)
    fetched(1, '12345', '67890', '1')
    expect(kafkajs.paused).toBe(true)
    chunks[0]!.end()
    await delivered(2)
    chunks[1]!.end()
    await delivered(3)
    expect(chunks.map(({ texts }) => texts)).toEqual([[''], ['', ''], ['']])
  })

  it('gives no more than a chunk may hold, but a record that is larger alone', async () => {
    const { chunks, fetched, delivered } = start()
    fetched(0, '12345', '67890', 'more than ten', 'x')
    for (const n of [1, 2, 3]) {
      await delivered(n)
      chunks[n - 1]!.end()
    }
    expect(chunks.map(({ texts }) => texts)).toEqual([['12345', '67890'], ['more than ten'], ['x']])
  })

  it('has the fetch rest while a chunk waits, until the handler takes it', async () => {
    const { kafkajs, chunks, fetched, delivered } = start()
    fetched(0, 'a')
    await delivered(1)
    expect(kafkajs.paused).toBe(false)
    fetched(1, '1234567890')
    expect(kafkajs.paused).toBe(true)
    chunks[0]!.end()
    await delivered(2)
    expect(kafkajs.paused).toBe(false)
  })

  it('leaves out no record when a fetch from before a rebalance comes after it', async () => {
    const { chunks, fetched, delivered } = start({ begin: 2 })
    expect(fetched(7, 'ahead of the commit')).toBe(2)
    expect(fetched(2, 'c', 'd')).toBe(4)
    expect(fetched(7, 'late')).toBe(4)
    expect(fetched(4, 'e')).toBe(5)
    await delivered(1)
    expect(chunks[0]!.texts).toEqual(['c', 'd', 'e'])
  })

  it('goes on ahead when the log has nothing where it should, and tells when it has only what lies behind', async () => {
    const { backwards, chunks, fetched, delivered } = start({ begin: 2 })
    expect(fetched(7, 'after the gap')).toBe(2)
    expect(fetched(7, 'after the gap')).toBe(8)
    await delivered(1)
    expect(chunks[0]!.texts).toEqual(['after the gap'])
    expect(fetched(0, 'of another history')).toBe(8)
    expect(backwards).toEqual([])
    fetched(0, 'of another history')
    expect(backwards).toEqual([{ next: 8, found: 0 }])
    chunks[0]!.end()
    await new Promise(setImmediate)
    expect(chunks).toHaveLength(1)
  })

  it('drops what waits after a rewind, and takes nothing but what was fetched from there', async () => {
    const { queue, kafkajs, chunks, fetched, delivered } = start()
    fetched(0, 'a', 'b')
    await delivered(1)
    fetched(2, '1234567890')
    expect(kafkajs.paused).toBe(true)
    queue.rewind(1)
    expect(kafkajs).toEqual({ position: 1, paused: false })
    expect(fetched(3, 'in flight')).toBe(1)
    expect(fetched(1, 'b', 'c')).toBe(3)
    chunks[0]!.end(new Error('read again'))
    await delivered(2)
    chunks[1]!.end()
    fetched(3, 'd')
    await delivered(3)
    expect(chunks.map(({ texts }) => texts)).toEqual([['a', 'b'], ['b', 'c'], ['d']])
  })

  it('delivers a refused chunk again as it was, though more has come', async () => {
    const { queue, chunks, fetched, delivered } = start()
    fetched(0, 'a')
    await delivered(1)
    fetched(1, 'b')
    chunks[0]!.end(new Error('not now'))
    await delivered(2)
    chunks[1]!.end()
    await delivered(3)
    chunks[2]!.end()
    await vi.waitFor(() => expect(queue.isBusy()).toBe(false), { timeout: 180_000, interval: 1 })
    expect(chunks.map(({ texts }) => texts)).toEqual([['a'], ['a'], ['b']])
  })

  it('begins when the handler of the generation before has ended', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { chunks, fetched, delivered } = start({ former: promise })
    fetched(0, 'a')
    await new Promise(setImmediate)
    expect(chunks).toEqual([])
    resolve()
    await delivered(1)
  })

  it('begins nothing more when its generation is over, and pauses nothing any more', async () => {
    const { queue, stop, kafkajs, chunks, fetched, delivered } = start()
    fetched(0, 'a')
    await delivered(1)
    fetched(1, '1234567890')
    stop.abort()
    expect(kafkajs.paused).toBe(false)
    const idle = queue.idle()
    chunks[0]!.end()
    await idle
    expect(chunks).toHaveLength(1)
  })

  it('has every partition that holds something rest while all together hold too much, and starves none', async () => {
    const budget = createBudget(12)
    const [one, two, three] = [start({ budget }), start({ budget }), start({ budget })]
    one.fetched(0, '123456')
    two.fetched(0, '12345')
    await Promise.all([one.delivered(1), two.delivered(1)])
    const paused = () => [one, two, three].map(({ kafkajs }) => kafkajs.paused)
    expect(paused()).toEqual([false, false, false])
    one.fetched(1, '7')
    expect(paused()).toEqual([true, true, false])
    three.fetched(0, '1')
    expect(paused()).toEqual([true, true, true])
    await three.delivered(1)
    three.chunks[0]!.end()
    await vi.waitFor(() => expect(paused()).toEqual([true, true, false]), { timeout: 180_000, interval: 1 })
    two.chunks[0]!.end()
    await vi.waitFor(() => expect(paused()).toEqual([false, false, false]), { timeout: 180_000, interval: 1 })
  })

  it('gives back what it held when its generation is over: what waits at once, what is in hand when it is handled', async () => {
    const budget = createBudget(8)
    const { stop, chunks, fetched, delivered, queue } = start({ budget })
    fetched(0, '1234')
    await delivered(1)
    fetched(1, '5678')
    expect(budget.isFull()).toBe(true)
    stop.abort()
    expect(budget.isFull()).toBe(false)
    budget.change(4)
    expect(budget.isFull()).toBe(true)
    chunks[0]!.end()
    await queue.idle()
    expect(budget.isFull()).toBe(false)
  })
})
