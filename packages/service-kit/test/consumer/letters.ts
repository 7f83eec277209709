import { setTimeout as pause } from 'node:timers/promises'
import type { Topic } from '@tributary/contracts/topics'
import { type Batch, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import { type RunConsumerOptions, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import type { MemoryBroker } from '@tributary/testing/twins/memory-broker'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect } from 'vitest'

export const topic: Topic = { name: 'letters.sent.v1', partitions: 1, retention_ms: 1000 }
export const now = () => 1_700_000_000_000
export const group = 'letter-reader'

/** Remembers what arrived by token, as a table with idempotent inserts does. */
export function sink() {
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

/** A consumer of letters; those that begin with ! can not be read. */
export const reader = (handle: (batch: Batch<string>) => void | Promise<void>) =>
  defineConsumer<string>({
    name: group,
    topic,
    decode({ value }) {
      const text = value.toString()
      if (text.startsWith('!')) throw new Error('unreadable')
      return text
    },
    async handle(batch) {
      await handle(batch)
    },
  })

export const letter = (text: string) => ({ topic: topic.name, partition: 0, key: null, value: Buffer.from(text) })

/** Starts a consumer with short pauses and metrics of its own. */
export function start(
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

/** Waits for a condition, for 5 s at most. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 180_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`)
    await pause(1)
  }
}

export const committedAt = (broker: MemoryBroker) => broker.committed(group, topic.name, 0)
export const allDone = (broker: MemoryBroker) => () => broker.isDone(group, topic.name, 0)

/** Batches by token, without the identity of the log, which is new each time. */
export const named = (batches: Map<string, string[]>) =>
  [...batches].map(([token, letters]) => [token.replace(/^[^/]+\/([^/]+\/\d+)\/[^/]+/, '$1'), letters])

/** Reads everything that the log holds, then closes. */
export async function readToEnd(broker: MemoryBroker, options: Parameters<typeof start>[1]): Promise<Registry> {
  const { running, registry } = start(broker, options)
  await until(allDone(broker), 'all records')
  await (await running).close()
  return registry
}

/** The sum of a metric over its labels. */
export async function metric(registry: Registry, name: string): Promise<number> {
  const values = (await registry.getSingleMetric(name)?.get())?.values ?? []
  return values.reduce((sum, { value }) => sum + value, 0)
}

/** How many misfits were counted, by reason. */
export async function misfitsOf(registry: Registry): Promise<Record<string, number>> {
  const values = (await registry.getSingleMetric('tributary_consumer_misfits_total')?.get())?.values ?? []
  return Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]))
}

/** Stands for the end of a process in the middle of its work. */
export class Crash extends Error {}
