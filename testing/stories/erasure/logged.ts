import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import { deadLetterTopic, type Topic, topics } from '@tributary/contracts/topics'
import { expect, vi } from 'vitest'
import { found, type Needles } from './search.ts'

const everyTopic: readonly Topic[] = Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)])

/** Every record of every topic that the log still has. */
export async function searchLog(broker: Broker, needles: Needles): Promise<string[]> {
  const hits: string[] = []
  for (const { name } of everyTopic)
    await readAll(broker, name, (key, value) => hits.push(...found(`log: ${name}`, `${key} ${value}`, needles)))
  return hits
}

async function readAll(broker: Broker, topic: string, see: (key: string, value: string) => void): Promise<void> {
  const group = `search-${randomUUID()}`
  const offsets = await broker.groupOffsets(group, topic)
  const unread = new Map(offsets.filter((one) => one.earliest < one.end).map((one) => [one.partition, one.end]))
  if (unread.size === 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const consumption = await broker.consume({
    ...{ group, topic, bytes_min: 1, bytes_max: 1_000_000, wait_ms_max: 50 },
    async onChunk({ partition, records }) {
      for (const { key, value } of records) see(String(key), value.toString())
      if ((records.at(-1)?.offset ?? -1) + 1 >= (unread.get(partition) ?? 0)) unread.delete(partition)
      if (unread.size === 0) resolve()
    },
  })
  await promise
  await consumption.close()
}

const ending = everyTopic.filter(({ name }) => name !== topics.erasuresRequested.name)

/** Has the retention of all records end, as days do, but that of requests for erasure, which the log keeps for a year. */
export async function outliveRetention(broker: Broker): Promise<void> {
  await broker.applyTopics(ending.map((topic) => ({ ...topic, retention_ms: 1 })))
  await vi.waitFor(async () => expect(await countRecords(broker)).toBe(0), { timeout: 180_000, interval: 100 })
  await broker.applyTopics(everyTopic)
}

async function countRecords(broker: Broker): Promise<number> {
  let records = 0
  for (const { name } of ending) {
    const offsets = await broker.groupOffsets('count', name, { dated: false })
    records += offsets.reduce((sum, { earliest, end }) => sum + end - earliest, 0)
  }
  return records
}
