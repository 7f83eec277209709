import type { Admin, Kafka } from 'kafkajs'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openKafkaConsumption } from '../../../src/kafka/consume/kafka-consumption.ts'
import { kafkaTimeouts } from '../../../src/kafka/kafka-client.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const silent = pino({ level: 'silent' })
const hung = () => new Promise<never>(() => {})

/** kafkajs whose first consumers neither start nor fail, as on a connection that it gave up. */
function openKafkajs(hung_starts: number) {
  const consumers: string[] = []
  const consumer = () => {
    const n = consumers.push('starting') - 1
    return {
      events: {},
      on: () => {},
      connect: async () => {},
      subscribe: async () => {},
      async run() {
        if (n < hung_starts) await hung()
        consumers[n] = 'runs'
      },
      async disconnect() {
        consumers[n] = 'gone'
      },
    }
  }
  return { consumers, newKafka: () => ({ consumer }) as unknown as Kafka }
}

it('builds a consumer again that fetches on after a join that failed', async () => {
  const made: Map<string, (event: object) => void>[] = []
  const consumer = () => {
    const listeners = new Map<string, (event: object) => void>()
    made.push(listeners)
    const nothing = async () => {}
    return {
      ...{ connect: nothing, subscribe: nothing, run: nothing, disconnect: nothing },
      events: { GROUP_JOIN: 'join', REBALANCING: 'rebalancing', FETCH: 'fetch' },
      on: (name: string, listen: (event: object) => void) => listeners.set(name, listen),
    }
  }
  const newKafka = () => ({ consumer }) as unknown as Kafka
  const admin = { fetchOffsets: hung, fetchTopicOffsets: hung } as unknown as Admin
  const consumption = await openKafkaConsumption(read, { admin, logger: silent, partition_count: 1, newKafka })
  const happens = (name: string) =>
    made.at(-1)!.get(name)!({ payload: { memberId: 'm', memberAssignment: { t: [0] } } })
  for (const name of ['join', 'fetch', 'rebalancing', 'join', 'fetch']) happens(name)
  await vi.advanceTimersByTimeAsync(kafkaTimeouts.rebuild_most_ms)
  expect(made).toHaveLength(1)
  for (const name of ['rebalancing', 'fetch', 'fetch']) happens(name)
  await vi.advanceTimersByTimeAsync(kafkaTimeouts.rebuild_most_ms)
  expect(made).toHaveLength(2)
  happens('fetch')
  await vi.advanceTimersByTimeAsync(kafkaTimeouts.rebuild_most_ms)
  expect(made).toHaveLength(2)
  const closing = consumption.close()
  await vi.advanceTimersByTimeAsync(kafkaTimeouts.rebuild_most_ms)
  await closing
})

it('does not start a consumer that connects after it was thrown away', async () => {
  const calls: string[] = []
  const connected = Promise.withResolvers<void>()
  const consumer = () => {
    const n = calls.filter((call) => call.startsWith('new')).length
    calls.push(`new ${n}`)
    const note = (call: string) => async () => void calls.push(`${call} ${n}`)
    return {
      ...{ events: {}, on: () => {}, subscribe: note('subscribe'), run: note('run'), disconnect: note('disconnect') },
      connect: () => (n === 0 ? connected.promise : Promise.resolve()),
    }
  }
  const newKafka = () => ({ consumer }) as unknown as Kafka
  const opening = openKafkaConsumption(read, { admin: {} as Admin, logger: silent, partition_count: 1, newKafka })
  await vi.advanceTimersByTimeAsync(kafkaTimeouts.silence_ms_max + kafkaTimeouts.rebuild_most_ms)
  const consumption = await opening
  connected.resolve()
  await vi.advanceTimersByTimeAsync(1000)
  expect(calls).toEqual(['new 0', 'disconnect 0', 'new 1', 'subscribe 1', 'run 1', 'disconnect 0'])
  const closing = consumption.close()
  await vi.advanceTimersByTimeAsync(kafkaTimeouts.rebuild_most_ms)
  await closing
})

const read = { group: 'g', topic: 't', bytes_min: 1, bytes_max: 1, wait_ms_max: 1, onChunk: hung }

it('throws away a consumer whose start hangs, and builds another until one runs', async () => {
  const { consumers, newKafka } = openKafkajs(2)
  const opening = openKafkaConsumption(read, { admin: {} as Admin, logger: silent, partition_count: 1, newKafka })
  await vi.advanceTimersByTimeAsync(2 * kafkaTimeouts.silence_ms_max + 2 * kafkaTimeouts.rebuild_most_ms)
  const consumption = await opening
  expect(consumers).toEqual(['gone', 'gone', 'runs'])
  const closing = consumption.close()
  await vi.advanceTimersByTimeAsync(kafkaTimeouts.rebuild_most_ms)
  await closing
  expect(consumers).toEqual(['gone', 'gone', 'gone'])
})
