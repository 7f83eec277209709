import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import kafkajs, { type Producer } from 'kafkajs'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Broker, Consumption, OutgoingRecord, WholeRecord } from '../broker.ts'
import { valueBytes } from '../gzip/packed-value.ts'
import { openKafkaConsumption } from './consume/kafka-consumption.ts'
import { createKafka, type KafkaAddress, kafkaTimeouts, within } from './kafka-client.ts'
import { kafkaMetrics } from './kafka-metrics.ts'
import { fetchFirstOffsetAfter, fetchGroupOffsets } from './kafka-offsets.ts'
import { packRecord } from './kafka-packed.ts'
import { applyTopics, fetchPartitionCounts, type TopicReplication } from './kafka-topics.ts'
import { createBatcher } from './produce/kafka-batcher.ts'

export interface KafkaBrokerOptions extends KafkaAddress {
  /** How long a record waits for others before it is sent, ms. */
  linger_ms: number
  send_bytes_max: number
  /** Records that wait or are on their way; above it `publish` rejects with `unavailable` at once. */
  buffer_bytes_max: number
  /** Replication of new topics; 1 and 1 when absent, which only a single node should have. */
  replication?: TopicReplication
  logger: Logger
  registry?: Registry
}

/** Kafka's limit holds for all that one send brings to one partition, compressed; no send is larger before that. */
const { log_record_bytes_max: record_bytes_max } = limits
/** More only grows the queue in front of the broker's disk. */
const sends_max = 4

/** The event log on Kafka. Rejects when no broker answers. */
export async function openKafkaBroker(options: KafkaBrokerOptions): Promise<Broker> {
  const { logger } = options
  const kafka = createKafka(options, logger)
  const admin = kafka.admin()
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    idempotent: false,
    createPartitioner:
      () =>
      ({ message }) =>
        message.partition!,
  })
  const partitionCounts = new Map<string, number>()
  const consumptions = new Set<Consumption>()
  let closing: Promise<void> | null = null
  /** Chunks in hand may still publish and commit while the log closes. */
  let closed = false
  await connect([admin, producer])

  const batcher = createBatcher({
    linger_ms: options.linger_ms,
    send_bytes_max: Math.min(options.send_bytes_max, record_bytes_max),
    buffer_bytes_max: options.buffer_bytes_max,
    sends_max,
    publish_ms_max: kafkaTimeouts.publish_ms_max,
    send: (records) => send(producer, records),
  })
  const metrics = kafkaMetrics(options.registry, batcher.buffered_bytes)

  function refuseClosed() {
    if (closed) throw new Error('the event log is closed')
  }

  const unlessAway = <Found>(found: Promise<Found>) =>
    found.catch((cause) => {
      throw new CodedError('unavailable', { message: 'log away', cause })
    })
  const fetchCounts = (topics: string[]) =>
    unlessAway(within(kafkaTimeouts.publish_ms_max, 'look-up of topics', fetchPartitionCounts(admin, topics)))

  /** Partition counts never change (see `applyTopics`), so each is fetched once. */
  async function partitionCount(topic: string): Promise<number> {
    refuseClosed()
    const known = partitionCounts.get(topic)
    if (known !== undefined) return known
    const found = (await fetchCounts([topic])).get(topic)
    if (found === undefined) throw new Error(`unknown topic ${topic}: make it with \`tributary topics apply\``)
    partitionCounts.set(topic, found)
    return found
  }

  /** Runs before the batcher: a wrong record must not fail the sends of others, and kafkajs drops it in silence. */
  async function check(records: readonly OutgoingRecord[]): Promise<void> {
    for (const { topic, partition, value } of records) {
      const count = partitionCounts.get(topic) ?? (await partitionCount(topic))
      if (!(partition >= 0 && partition < count)) throw new RangeError(`${topic} has no partition ${partition}`)
      if (valueBytes(value) > record_bytes_max) throw new RangeError(`record over ${record_bytes_max} bytes`)
    }
  }

  async function close() {
    await Promise.all([...consumptions].map((consumption) => consumption.close()))
    closed = true
    await batcher.close()
    const ends = [producer.disconnect(), admin.disconnect()]
    await within(kafkaTimeouts.disconnect_ms_max, 'disconnect', Promise.all(ends)).catch((err) =>
      logger.warn({ err }, 'kafka connections were left open'),
    )
  }

  return {
    async publish(records) {
      refuseClosed()
      const done = metrics.publishing(records.length)
      await check(records)
      await batcher.publish(records.map(packRecord))
      done()
    },
    async consume(wanted) {
      if (closing !== null) throw new Error('the event log is closing')
      const partition_count = await partitionCount(wanted.topic)
      const newKafka = () => createKafka(options, logger)
      const consumption = await openKafkaConsumption(wanted, { admin, logger, partition_count, newKafka })
      consumptions.add(consumption)
      return {
        async close() {
          await consumption.close()
          consumptions.delete(consumption)
        },
      }
    },
    async applyTopics(topics, { dryRun = false } = {}) {
      refuseClosed()
      const replication = options.replication ?? { replication_factor: 1, insync_replicas_min: 1 }
      return applyTopics(admin, topics, replication, dryRun)
    },
    partitionCount,
    async groupOffsets(group, topic, { dated = true } = {}) {
      refuseClosed()
      return unlessAway(fetchGroupOffsets(admin, group, topic, dated ? Date.now() : null))
    },
    async moveGroup(group, topic, moved) {
      refuseClosed()
      const partitions = moved.map(({ partition, offset }) => ({ partition, offset: String(offset) }))
      await within(kafkaTimeouts.move_group_ms_max, 'move', admin.setOffsets({ groupId: group, topic, partitions }))
    },
    async firstOffsetAfter(topic, partition, timestamp_ms) {
      refuseClosed()
      return fetchFirstOffsetAfter(admin, topic, partition, timestamp_ms)
    },
    async checkHealth() {
      refuseClosed()
      await within(kafkaTimeouts.health_ms_max, 'health', admin.describeCluster())
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

async function connect(clients: { connect(): Promise<void>; disconnect(): Promise<void> }[]): Promise<void> {
  try {
    await Promise.all(clients.map((client) => client.connect()))
  } catch (cause) {
    await Promise.allSettled(clients.map((client) => client.disconnect()))
    throw new CodedError('unavailable', { message: 'no Kafka broker answers', cause })
  }
}

/** Resolves when all replicas in sync have every record. */
async function send(producer: Producer, records: readonly WholeRecord[]): Promise<void> {
  const byTopic = Map.groupBy(records, ({ topic }) => topic)
  const answers = await producer.sendBatch({
    acks: -1,
    timeout: kafkaTimeouts.acks_ms,
    compression: kafkajs.CompressionTypes.ZSTD,
    topicMessages: [...byTopic].map(([topic, messages]) => ({ topic, messages })),
  })
  // kafkajs leaves a partition out in silence when it does not know it, or when its leader changed between two tries.
  const acknowledged = new Set(answers.filter(({ errorCode }) => errorCode === 0).map(partitionOf))
  const missing = records.filter(({ topic, partition }) => !acknowledged.has(`${topic}/${partition}`))
  if (missing.length > 0) throw new Error(`${missing.length} records were not acknowledged`)
}

const partitionOf = ({ topicName, partition }: { topicName: string; partition: number }) => `${topicName}/${partition}`
