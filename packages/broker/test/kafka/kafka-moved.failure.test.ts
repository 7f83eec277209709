import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { kafkaWith } from '@tributary/testing/engines/kafka'
import { startOwnEngine } from '@tributary/testing/engines/own-engine'
import { freePorts } from '@tributary/testing/engines/ports'
import kafkajs, { type Admin } from 'kafkajs'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { Broker } from '../../src/broker.ts'
import { fetchSizes, makeTopic, openTestBroker } from './kafka-under-test.ts'

const patience = { timeout: 180_000, interval: 50 }

/** Two brokers of one cluster, each with a copy of everything, who soon lead what is theirs. */
async function startPair() {
  const [controller_port = 0] = await freePorts(1)
  const properties = { 'offsets.topic.replication.factor': '2', 'leader.imbalance.check.interval.seconds': '1' }
  const start = (id: number) => startOwnEngine(kafkaWith({ properties, node: { id, controller_port } }))
  const first = await start(1)
  const second = await start(2)
  return {
    ...first,
    stop: async () => {
      await second.stop()
      await first.stop()
    },
  }
}

await describeWith('kafka of two brokers', startPair, (kafka) => {
  let admin: Admin
  let broker: Broker
  beforeAll(async () => {
    admin = new kafkajs.Kafka({ brokers: [kafka.url], logLevel: kafkajs.logLevel.NOTHING }).admin()
    await admin.connect()
    await vi.waitFor(async () => expect((await admin.describeCluster()).brokers).toHaveLength(2), patience)
    broker = await openTestBroker(kafka.url, { replication: { replication_factor: 2, insync_replicas_min: 1 } })
  })
  afterAll(async () => {
    await broker.close()
    await admin.disconnect()
  })

  const leadersOf = async (topic: string) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return (topics[0]?.partitions ?? []).map(({ partitionId: partition, leader }) => ({ partition, leader }))
  }
  /** The other broker leads each partition, and the one that led keeps its copy: as after a restart of one of them. */
  async function move(topic: string) {
    const moved = (await leadersOf(topic)).map(({ partition, leader }) => ({ partition, leader: 3 - leader }))
    const partitionAssignment = moved.map(({ partition, leader }) => ({ partition, replicas: [leader, 3 - leader] }))
    await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] })
    await vi.waitFor(async () => expect(await leadersOf(topic)).toEqual(moved), patience)
  }

  it.each(['partitions', 'offsets of the groups'])(
    'publishes, reads, commits and tells where a group stands after the %s went to another broker, twice',
    async (what) => {
      const topic = await makeTopic(broker)
      const group = `group-of-${topic}`
      const read: string[] = []
      const consumption = await broker.consume({
        group,
        topic,
        ...fetchSizes,
        async onChunk(chunk) {
          await chunk.commit(chunk.records.at(-1)!.offset + 1)
          read.push(...chunk.records.map(({ value }) => value.toString()))
        },
      })
      for (const [n, text] of ['before', 'after', 'after the way back'].entries()) {
        if (n > 0) await move(what === 'partitions' ? topic : '__consumer_offsets')
        await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from(text) }])
        await vi.waitFor(() => expect(read.at(-1)).toBe(text), patience)
        await vi.waitFor(async () => {
          const [offsets] = await broker.groupOffsets(group, topic)
          expect(offsets).toMatchObject({ committed: n + 1, end: n + 1, oldest_unread_ms: null })
        }, patience)
      }
      expect(new Set(read).size).toBe(3)
      await consumption.close()
    },
  )
})
