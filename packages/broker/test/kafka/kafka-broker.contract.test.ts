import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { brokerSuite } from '@tributary/testing/suites/broker-suite'
import kafkajs from 'kafkajs'
import { describe, expect, it, vi } from 'vitest'
import { fetchSizes, makeTopic, openTestBroker } from './kafka-under-test.ts'

await describeWithEngine('kafka', (kafka) => {
  brokerSuite('the log on Kafka', async () => ({ open: () => openTestBroker(kafka.url), dispose: async () => {} }))

  describe('Kafka in particular', () => {
    it('refuses to open when no broker answers, in seconds', async () => {
      await expect(openTestBroker('127.0.0.1:1')).rejects.toMatchObject({ code: 'unavailable' })
    })

    it('keeps what an operator has set on a topic when it changes another setting', async () => {
      const admin = new kafkajs.Kafka({ brokers: [kafka.url], logLevel: kafkajs.logLevel.NOTHING }).admin()
      await admin.connect()
      const broker = await openTestBroker(kafka.url)
      const name = await makeTopic(broker)
      const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name }
      const ofOperator = { name: 'segment.ms', value: '123456789' }
      await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries: [ofOperator] }] })
      const { changed } = await broker.applyTopics([{ name, partitions: 1, retention_ms: 3_600_000 }])
      expect(changed.map(({ setting }) => setting)).toEqual([
        'retention.ms',
        'message.timestamp.type',
        'compression.type',
      ])
      const configNames = ['segment.ms', 'retention.ms', 'message.timestamp.type', 'compression.type']
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ ...resource, configNames }],
      })
      const values = Object.fromEntries(resources[0]!.configEntries.map((one) => [one.configName, one.configValue]))
      expect(values).toEqual({
        'segment.ms': '123456789',
        'retention.ms': '3600000',
        'message.timestamp.type': 'LogAppendTime',
        'compression.type': 'zstd',
      })
      await Promise.all([broker.close(), admin.disconnect()])
    })

    it('refuses copies that the brokers can not hold, and less of them than records have to be on', async () => {
      const topic = { name: `tests.run.${randomUUID()}`, partitions: 1, retention_ms: 3_600_000 }
      const refusal = async (replication_factor: number, insync_replicas_min: number) => {
        const broker = await openTestBroker(kafka.url, { replication: { replication_factor, insync_replicas_min } })
        const error: unknown = await broker.applyTopics([topic]).catch((cause: unknown) => cause)
        await broker.close()
        return error
      }
      expect(await refusal(3, 2)).toMatchObject({
        code: 'too_few_brokers',
        message: expect.stringContaining('1 broker:'),
      })
      expect(await refusal(1, 2)).toMatchObject({ code: 'bad_replication' })
      const single = await openTestBroker(kafka.url)
      expect(await single.applyTopics([topic])).toMatchObject({ created: [topic.name] })
      await single.close()
      expect(await refusal(3, 2)).toMatchObject({ code: 'topic_differs' })
    })

    it('starts no timer with a negative delay, which would wake the process a thousand times a second', async () => {
      const warnings: string[] = []
      const listen = ({ name }: Error) => warnings.push(name)
      process.on('warning', listen)
      const broker = await openTestBroker(kafka.url)
      const topic = await makeTopic(broker)
      await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from('a') }])
      await broker.close()
      await new Promise((resolve) => setImmediate(resolve)) // warnings are emitted on the next turn
      process.off('warning', listen)
      expect(warnings).toEqual([])
    })

    it('goes on at the earliest record that retention has left, and keeps what was committed before', async () => {
      const admin = new kafkajs.Kafka({ brokers: [kafka.url], logLevel: kafkajs.logLevel.NOTHING }).admin()
      await admin.connect()
      const broker = await openTestBroker(kafka.url)
      const topic = await makeTopic(broker)
      const group = `group-of-${topic}`
      const publish = (texts: string[]) =>
        broker.publish(texts.map((text) => ({ topic, partition: 0, key: null, value: Buffer.from(text) })))
      const dropBelow = (offset: number) =>
        admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] })
      await publish(['a', 'b', 'c', 'd', '1234'])
      await admin.fetchTopicOffsets(topic) // kafkajs deletes nothing of a topic that it has not seen
      const before = Promise.withResolvers<void>()
      const first = await broker.consume({
        ...{ group, topic, ...fetchSizes },
        onChunk: async (chunk) => before.resolve(chunk.commit(1, 'intent')),
      })
      await before.promise
      await first.close()

      await dropBelow(2)
      const gate = Promise.withResolvers<void>()
      const read: string[] = []
      const found: unknown[] = []
      let fetched = false
      const second = await broker.consume({
        ...{ group, topic, ...fetchSizes, bytes_max: 4 },
        async onChunk(chunk) {
          fetched = true
          await gate.promise
          read.push(...chunk.records.map(({ value }) => value.toString()))
          found.push(await chunk.committed())
        },
      })
      // What is published from now on stays in the log: enough waits for the handler.
      await vi.waitFor(() => expect(fetched).toBe(true), { timeout: 180_000 })
      await publish(['e', 'f'])
      await dropBelow(6)
      gate.resolve()
      await vi.waitFor(() => expect(read.at(-1)).toBe('f'), { timeout: 180_000 })
      await second.close()
      expect(read).toEqual(['c', 'd', '1234', 'f'])
      expect(new Set(found.map((one) => JSON.stringify(one)))).toEqual(new Set(['{"offset":1,"metadata":"intent"}']))
      const [offsets] = await broker.groupOffsets(group, topic)
      expect(offsets).toMatchObject({ committed: 1, earliest: 6, end: 7 })
      await Promise.all([broker.close(), admin.disconnect()])
    })

    it('dates the oldest unread record within a sixteenth of its age', async () => {
      const broker = await openTestBroker(kafka.url)
      const topic = await makeTopic(broker, 2)
      const publish = (partition: number) => broker.publish([{ topic, partition, key: null, value: Buffer.from('a') }])
      const before_ms = Date.now()
      await publish(0)
      const after_ms = Date.now()
      await publish(1)
      await publish(0)
      const group = `group-of-${topic}`
      const offsets = await broker.groupOffsets(group, topic)
      const oldest_ms = offsets[0]!.oldest_unread_ms!
      expect(oldest_ms).toBeLessThanOrEqual(after_ms)
      expect(oldest_ms).toBeGreaterThanOrEqual(before_ms - 1 - (Date.now() - before_ms) / 16)
      expect(offsets[1]!.oldest_unread_ms).toBeGreaterThanOrEqual(oldest_ms)
      await broker.close()
    })

    it('gives the partitions of a member that leaves to the others without waiting for a timeout', async () => {
      const broker = await openTestBroker(kafka.url)
      const seconds: number[] = []
      // The timeout is six seconds. A machine that stands still may take as long, but not each time.
      while (Math.min(...seconds) >= 5 && seconds.length < 5) seconds.push(await handOver(broker))
      expect(Math.min(...seconds)).toBeLessThan(5)
      await broker.close()
    })
  })
})

/** Seconds from the end of the only member of a group until the next one has its records. */
async function handOver(broker: Broker): Promise<number> {
  const topic = await makeTopic(broker)
  await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from('a') }])
  const consume = async () => {
    const delivered = Promise.withResolvers<void>()
    const onChunk = async () => delivered.resolve()
    const consumption = await broker.consume({ group: `g-${topic}`, topic, ...fetchSizes, onChunk })
    await delivered.promise
    return consumption
  }
  await (await consume()).close()
  const started = performance.now()
  const second = await consume()
  const seconds = (performance.now() - started) / 1000
  await second.close()
  return seconds
}
