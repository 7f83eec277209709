import { CodedError } from '@tributary/contracts/errors'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { WholeRecord } from '../../../src/broker.ts'
import { createBatcher } from '../../../src/kafka/produce/kafka-batcher.ts'

const record = (text: string): WholeRecord => ({ topic: 't', partition: 0, key: null, value: Buffer.from(text) })
const kilobytes = (count: number) => record('x'.repeat(count * 1024))

/** A batcher in front of an engine whose sends end when the test says so. */
function start(options: Partial<Parameters<typeof createBatcher>[0]> = {}) {
  const sends: { texts: string[]; bytes: number; end(error?: Error): void }[] = []
  const batcher = createBatcher({
    linger_ms: 1,
    send_bytes_max: 10 * 1024,
    buffer_bytes_max: 100 * 1024,
    sends_max: 2,
    publish_ms_max: 10_000,
    send(records) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      sends.push({
        texts: records.map(({ value }) => value.toString()),
        bytes: records.reduce((total, { value }) => total + value.length, 0),
        end: (error) => (error === undefined ? resolve() : reject(error)),
      })
      return promise
    },
    ...options,
  })
  const sent = (count: number) => vi.waitFor(() => expect(sends).toHaveLength(count), { timeout: 180_000, interval: 1 })
  return { batcher, sends, sent }
}

describe('the batcher of the Kafka producer', () => {
  it('sends the records of many publishes together, in order', async () => {
    const { batcher, sends, sent } = start()
    const publishes = [[record('a'), record('b')], [record('c')], []].map((records) => batcher.publish(records))
    await sent(1)
    expect(sends[0]!.texts).toEqual(['a', 'b', 'c'])
    sends[0]!.end()
    await Promise.all(publishes)
    expect(batcher.buffered_bytes()).toBe(0)
  })

  it('sends at once, however long the linger, what comes while the log is idle', async () => {
    const { batcher, sends, sent } = start({ linger_ms: 60_000 })
    const publishes = ['a', 'b'].map((text) => batcher.publish([record(text)]))
    await sent(1)
    expect(sends[0]!.texts).toEqual(['a', 'b'])
    sends[0]!.end()
    await Promise.all(publishes)
  })

  it('makes no more than one send in the time of a linger, unless one is full', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { batcher, sends } = start({ linger_ms: 5 })
    const publishes = [batcher.publish([record('a')])]
    await vi.advanceTimersByTimeAsync(1)
    sends[0]!.end()
    publishes.push(batcher.publish([record('b')]))
    await vi.advanceTimersByTimeAsync(3)
    publishes.push(batcher.publish([record('c')]))
    expect(sends).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(sends.map(({ texts }) => texts)).toEqual([['a'], ['b', 'c']])
    sends[1]!.end()
    await vi.advanceTimersByTimeAsync(5)
    publishes.push(batcher.publish([record('d')]))
    await vi.advanceTimersByTimeAsync(0)
    expect(sends[2]!.texts).toEqual(['d'])
    sends[2]!.end()
    await Promise.all(publishes)
  })

  it('does not wait for company when a send is full, and never sends more', async () => {
    const { batcher, sends, sent } = start({ linger_ms: 60_000 })
    const publishes = Array.from({ length: 5 }, () => batcher.publish([kilobytes(4)]))
    await sent(2)
    expect(sends.map(({ texts }) => texts.length)).toEqual([2, 2])
    const closing = batcher.close()
    sends[0]!.end()
    await sent(3)
    for (const { end } of sends) end()
    await Promise.all([...publishes, closing])
  })

  it('keeps the order of a publish that takes several sends, and lets others pass meanwhile', async () => {
    const { batcher, sends, sent } = start()
    const large = batcher.publish([kilobytes(8), record('second'), kilobytes(8), record('last')])
    const other = batcher.publish([record('other')])
    await sent(2)
    expect(sends.map(({ texts }) => texts.length)).toEqual([2, 1])
    sends[1]!.end()
    await other
    expect(sends).toHaveLength(2)
    sends[0]!.end()
    await sent(3)
    expect(sends[2]!.texts.at(-1)).toBe('last')
    sends[2]!.end()
    await large
  })

  it('has no more sends under way than it may, and sends what gathered meanwhile as one', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { batcher, sends, sent } = start({ sends_max: 1 })
    const first = batcher.publish([record('a')])
    await sent(1)
    const rest = ['b', 'c', 'd'].map((text) => batcher.publish([record(text)]))
    await vi.advanceTimersByTimeAsync(1000)
    expect(sends).toHaveLength(1)
    sends[0]!.end()
    await first
    await sent(2)
    expect(sends[1]!.texts).toEqual(['b', 'c', 'd'])
    sends[1]!.end()
    await Promise.all(rest)
  })

  it('resolves a publish only when all of its sends are durable', async () => {
    const { batcher, sends, sent } = start()
    let resolved = false
    const publish = batcher.publish([kilobytes(8), kilobytes(8)]).then(() => {
      resolved = true
    })
    await sent(1)
    sends[0]!.end()
    await sent(2)
    expect(resolved).toBe(false)
    sends[1]!.end()
    await publish
  })

  it('answers `unavailable` to exactly the publishes of a failed send', async () => {
    const { batcher, sends, sent } = start()
    const failing = batcher.publish([kilobytes(9)])
    const fine = batcher.publish([kilobytes(2)])
    await sent(2)
    sends[0]!.end(new Error('no leader'))
    await expect(failing).rejects.toMatchObject({ code: 'unavailable' })
    sends[1]!.end()
    await fine
    expect(batcher.buffered_bytes()).toBe(0)
  })

  it('refuses at once what is above the buffer, and takes again when there is room', async () => {
    const { batcher, sends, sent } = start({ buffer_bytes_max: 20 * 1024, sends_max: 1 })
    const taken = [batcher.publish([kilobytes(9)]), batcher.publish([kilobytes(9)])]
    await expect(batcher.publish([kilobytes(2)])).rejects.toBeInstanceOf(CodedError)
    await sent(1)
    sends[0]!.end()
    await sent(2)
    const again = batcher.publish([kilobytes(2)])
    sends[1]!.end()
    await sent(3)
    sends[2]!.end()
    await Promise.all([...taken, again])
  })

  it('takes a publish larger than its buffer when nothing else is in it', async () => {
    const { batcher, sends, sent } = start({ buffer_bytes_max: 1024 })
    const publish = batcher.publish([kilobytes(8)])
    await sent(1)
    sends[0]!.end()
    await publish
  })

  it('answers in time while sends hang, and never sends what it gave up', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { batcher, sends } = start({ publish_ms_max: 50, sends_max: 1 })
    const publishes = ['a', 'b'].map((text) => batcher.publish([record(text.repeat(8 * 1024))]))
    const refused = publishes.map((publish) => expect(publish).rejects.toMatchObject({ code: 'unavailable' }))
    await vi.advanceTimersByTimeAsync(50)
    await Promise.all(refused)
    expect(sends).toHaveLength(1)
    const later = batcher.publish([record('c')])
    sends[0]!.end()
    await vi.advanceTimersByTimeAsync(1)
    expect(sends[1]!.texts).toEqual(['c'])
    sends[1]!.end()
    await later
    expect(batcher.buffered_bytes()).toBe(0)
  })

  it('sends what it has before it closes, and takes nothing afterwards', async () => {
    const { batcher, sends, sent } = start({ linger_ms: 60_000 })
    const publish = batcher.publish([record('a')])
    const closing = batcher.close()
    await sent(1)
    await expect(batcher.publish([record('b')])).rejects.toThrow()
    sends[0]!.end()
    await Promise.all([publish, closing])
  })
})
