import { randomUUID } from 'node:crypto'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import type { EachBatchPayload } from 'kafkajs'
import { pino } from 'pino'
import { expect, it, vi } from 'vitest'
import { FencedError } from '../../src/broker.ts'
import { openKafkaConsumption } from '../../src/kafka/consume/kafka-consumption.ts'
import { createKafka } from '../../src/kafka/kafka-client.ts'
import { fetchSizes, makeTopic, openTestBroker } from './kafka-under-test.ts'

const patience = { timeout: 180_000, interval: 50 }

await describeWithOwnEngine('kafka', (kafka) => {
  /**
   * Reads one record whose first commit is refused with this error, and kafkajs hears of nothing: as when the coordinator
   * is away for a moment. Gives what the handler got from each of its tries, and the generations that it saw.
   */
  async function readThrough(type: string) {
    const logger = pino({ level: 'silent' })
    const address = { brokers: [kafka.url], client_id: `test-${randomUUID()}` }
    const broker = await openTestBroker(kafka.url)
    const topic = await makeTopic(broker)
    const admin = createKafka(address, logger).admin()
    await admin.connect()
    let refused = false
    const refuseOnce = (payload: EachBatchPayload): EachBatchPayload => ({
      ...payload,
      async commitOffsetsIfNecessary(offsets) {
        if (!refused) {
          refused = true
          throw Object.assign(new Error('refused'), { type })
        }
        await payload.commitOffsetsIfNecessary(offsets)
      },
    })
    const newKafka = () => {
      const client = createKafka(address, logger)
      const make = client.consumer.bind(client)
      client.consumer = (options) => {
        const consumer = make(options)
        const run = consumer.run.bind(consumer)
        consumer.run = (given) => run({ ...given, eachBatch: (payload) => given!.eachBatch!(refuseOnce(payload)) })
        return consumer
      }
      return client
    }
    const tries: unknown[] = []
    const generations = new Set<string>()
    const consumption = await openKafkaConsumption(
      {
        group: `group-of-${topic}`,
        topic,
        ...fetchSizes,
        async onChunk(chunk) {
          generations.add(chunk.generation)
          const outcome = await chunk.commit(chunk.records.at(-1)!.offset + 1).catch((error: unknown) => error)
          tries.push(outcome)
          if (outcome !== undefined) throw outcome
        },
      },
      { admin, logger, partition_count: 1, newKafka, watch_ms: 1000 },
    )
    await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from('a') }])
    await vi.waitFor(async () => {
      const [offsets] = await broker.groupOffsets(`group-of-${topic}`, topic)
      expect(offsets).toMatchObject({ committed: 1, end: 1 })
    }, patience)
    await consumption.close()
    await admin.disconnect()
    await broker.close()
    return { tries, generations: generations.size }
  }

  it('keeps its partitions when the coordinator was away for a moment, and the commit is tried again', async () => {
    const { tries, generations } = await readThrough('NOT_COORDINATOR_FOR_GROUP')
    expect(tries).toEqual([expect.objectContaining({ message: 'refused' }), undefined])
    expect(generations).toBe(1)
  })

  it('joins again when Kafka refused a commit for good and kafkajs goes on as if nothing was, with no record to come', async () => {
    const { tries, generations } = await readThrough('ILLEGAL_GENERATION')
    expect(tries).toEqual([expect.any(FencedError), undefined])
    expect(generations).toBe(2)
  })
})
