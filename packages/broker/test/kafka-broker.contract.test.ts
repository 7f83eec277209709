import { brokerSuite } from '@tributary/testkit/broker-suite'
import { describe, expect, it } from 'vitest'
import { describeWithEngine } from '../../../infra/engines/describe-with-engine.ts'
import { fetchSizes, makeTopic, openTestBroker } from './kafka-under-test.ts'

await describeWithEngine('kafka', (kafka) => {
  brokerSuite('the log on Kafka', async () => ({ open: () => openTestBroker(kafka.url), dispose: async () => {} }))

  describe('Kafka in particular', () => {
    it('refuses to open when no broker answers, in seconds', async () => {
      await expect(openTestBroker('127.0.0.1:1')).rejects.toMatchObject({ code: 'unavailable' })
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
      const topic = await makeTopic(broker)
      await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from('a') }])
      const consume = () => {
        const { promise, resolve } = Promise.withResolvers<void>()
        const consumption = broker.consume({
          group: `g-${topic}`,
          topic,
          ...fetchSizes,
          onChunk: async () => resolve(),
        })
        return { consumption, delivered: promise }
      }
      const first = consume()
      await first.delivered
      await (await first.consumption).close()
      const started = performance.now()
      const second = consume()
      await second.delivered
      expect(performance.now() - started).toBeLessThan(5000)
      await broker.close()
    })
  })
})
