import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import type { Consumer } from 'kafkajs'
import { pino } from 'pino'
import { expect, it, vi } from 'vitest'
import { openKafkaConsumption } from '../../src/kafka/consume/kafka-consumption.ts'
import { createKafka } from '../../src/kafka/kafka-client.ts'
import { fetchSizes, makeTopic, openTestBroker } from './kafka-under-test.ts'

const patience = { timeout: 180_000, interval: 50 }
const partitions = 2

await describeWithOwnEngine('kafka', (kafka) => {
  it('builds a consumer again that stands still without an error, and every record flows on, in order', async () => {
    const logger = pino({ level: 'silent' })
    const address = { brokers: [kafka.url], client_id: 'test' }
    const broker = await openTestBroker(kafka.url)
    const topic = await makeTopic(broker, partitions)
    const admin = createKafka(address, logger).admin()
    await admin.connect()
    /** The kafkajs consumers in the order in which they were made. */
    const consumers: Consumer[] = []
    const newKafka = () => {
      const client = createKafka(address, logger)
      const make = client.consumer.bind(client)
      client.consumer = (options) => {
        const consumer = make(options)
        consumers.push(consumer)
        return consumer
      }
      return client
    }
    const read = new Map<number, string[]>([
      [0, []],
      [1, []],
    ])
    const generations = new Set<string>()
    const consumption = await openKafkaConsumption(
      {
        group: `group-of-${topic}`,
        topic,
        ...fetchSizes,
        async onChunk(chunk) {
          generations.add(chunk.generation)
          read.get(chunk.partition)!.push(...chunk.records.map(({ value }) => value.toString()))
          await chunk.commit(chunk.records.at(-1)!.offset + 1)
        },
      },
      { admin, logger, partition_count: partitions, newKafka, watch_ms: 1000 },
    )
    const published: string[] = []
    const publish = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        const text = `${published.length}`
        published.push(text)
        await broker.publish([0, 1].map((partition) => ({ topic, partition, key: null, value: Buffer.from(text) })))
      }
    }
    const untilRead = () =>
      vi.waitFor(() => expect([...read]).toEqual([0, 1].map((partition) => [partition, published])), patience)

    await publish(10)
    await untilRead()
    /** It stays in the group and sends heartbeats, but does not ask: the stall that kafkajs is known for. */
    const stall = async (stalled: number[]) => {
      const before = { consumers: consumers.length, generations: generations.size }
      consumers.at(-1)!.pause([{ topic, partitions: stalled }])
      await publish(10)
      await untilRead()
      expect(consumers.length).toBeGreaterThan(before.consumers)
      expect(generations.size).toBeGreaterThan(before.generations)
    }
    await stall([0, 1])
    await stall([1])

    const calm = consumers.length
    await publish(10)
    await untilRead()
    expect(consumers).toHaveLength(calm)
    await consumption.close()
    await admin.disconnect()
    await broker.close()
  })
})
