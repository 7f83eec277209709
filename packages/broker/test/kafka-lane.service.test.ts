import type { EachBatchPayload } from 'kafkajs'
import { describe, expect, it, vi } from 'vitest'
import { createLane } from '../src/kafka-lane.ts'

const bytes_max = 10

/** A lane whose handler ends when the test says so, before a kafkajs that remembers what it was told. */
function start({ first = true, former = Promise.resolve() } = {}) {
  const stop = new AbortController()
  const kafkajs = { position: 0, paused: false }
  const chunks: { texts: string[]; end(error?: Error): void }[] = []
  const lane = createLane({
    bytes_max,
    signal: stop.signal,
    former,
    first,
    deliver(records) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const end = (error?: Error) => (error === undefined ? resolve() : reject(error))
      chunks.push({ texts: records.map(({ value }) => value.toString()), end })
      return promise
    },
    onRefused: () => {},
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
    return lane.take(payload as unknown as EachBatchPayload)
  }
  const delivered = (count: number) => vi.waitFor(() => expect(chunks).toHaveLength(count), { interval: 1 })
  return { lane, stop, kafkajs, chunks, fetched, delivered }
}

describe('the lane between kafkajs and the handler of a partition', () => {
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
    const { kafkajs, chunks, fetched, delivered } = start({ first: false })
    expect(fetched(7, 'ahead of the commit')).toBe(false)
    expect(kafkajs.position).toBe(0)
    expect(fetched(2, 'c', 'd')).toBe(false)
    expect(fetched(2, 'c', 'd')).toBe(true)
    expect(fetched(7, 'late')).toBe(false)
    expect(fetched(4, 'e')).toBe(true)
    await delivered(1)
    expect(chunks[0]!.texts).toEqual(['c', 'd', 'e'])
  })

  it('delivers a refused chunk again as it was, though more has come', async () => {
    const { lane, chunks, fetched, delivered } = start()
    fetched(0, 'a')
    await delivered(1)
    fetched(1, 'b')
    chunks[0]!.end(new Error('not now'))
    await delivered(2)
    chunks[1]!.end()
    await delivered(3)
    chunks[2]!.end()
    await vi.waitFor(() => expect(lane.isBusy()).toBe(false), { interval: 1 })
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
    const { lane, stop, kafkajs, chunks, fetched, delivered } = start()
    fetched(0, 'a')
    await delivered(1)
    fetched(1, '1234567890')
    stop.abort()
    expect(kafkajs.paused).toBe(false)
    const settled = lane.settled()
    chunks[0]!.end()
    await settled
    expect(chunks).toHaveLength(1)
  })
})
