import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import kafkajs, { type Admin } from 'kafkajs'
import pino from 'pino'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Broker, Committed } from '../../src/broker.ts'
import { fetchSizes, makeTopic, openTestBroker } from './kafka-under-test.ts'

const patience = { timeout: 180_000, interval: 50 }

interface Delivered {
  generation: string
  offset: number
  text: string
}

await describeWithEngine('kafka', (kafka) => {
  let admin: Admin
  let broker: Broker
  let logged: string
  beforeEach(async () => {
    admin = new kafkajs.Kafka({ brokers: [kafka.url], logLevel: kafkajs.logLevel.NOTHING }).admin()
    await admin.connect()
    logged = ''
    const write = (line: string) => {
      logged += line
    }
    broker = await openTestBroker(kafka.url, { logger: pino({ level: 'warn' }, { write }) })
  })
  afterEach(async () => {
    await broker.close()
    await admin.disconnect()
  })

  /** As an operator does, from another process: kafkajs makes no topic while it knows of one that is gone. */
  async function make(topic: string) {
    const operator = await openTestBroker(kafka.url)
    const made = () => operator.applyTopics([{ name: topic, partitions: 2, retention_ms: 3_600_000 }])
    await vi.waitFor(made, patience).finally(() => operator.close())
  }
  /** The client may not know yet that the topic is another one now; a record that was refused is not in the log. */
  const publish = (topic: string, texts: string[]) =>
    vi.waitFor(
      () => broker.publish(texts.map((text) => ({ topic, partition: 0, key: null, value: Buffer.from(text) }))),
      patience,
    )
  /** Reads and commits behind each chunk, with a note. */
  async function read(topic: string, group: string) {
    const delivered: Delivered[] = []
    const found: (Committed | null)[] = []
    const consumption = await broker.consume({
      group,
      topic,
      ...fetchSizes,
      async onChunk(chunk) {
        found.push(await chunk.committed())
        await chunk.commit(chunk.records.at(-1)!.offset + 1, 'note')
        const { generation } = chunk
        delivered.push(...chunk.records.map(({ offset, value }) => ({ generation, offset, text: value.toString() })))
      },
    })
    const untilRead = (texts: string[]) =>
      vi.waitFor(() => expect(delivered.slice(-texts.length).map(({ text }) => text)).toEqual(texts), patience)
    return { ...consumption, delivered, found, untilRead }
  }

  it('forgets what groups have committed of a topic that is deleted, whether or not someone reads it', async () => {
    for (const isReading of [false, true]) {
      const topic = await makeTopic(broker, 2)
      const group = `group-of-${topic}`
      await publish(topic, ['a', 'b'])
      const reader = await read(topic, group)
      await reader.untilRead(['a', 'b'])
      if (!isReading) await reader.close()
      expect((await broker.groupOffsets(group, topic))[0]).toMatchObject({ committed: 2 })
      await admin.deleteTopics({ topics: [topic] })
      await make(topic)
      await vi.waitFor(async () => {
        expect((await broker.groupOffsets(group, topic))[0]).toMatchObject({ committed: null, end: 0 })
      }, patience)
      await reader.close()
    }
  })

  it.each(['at once', 'after its readers have noticed'])(
    'delivers what a topic holds that was deleted and made again %s, from its first record',
    async (when) => {
      const topic = await makeTopic(broker, 2)
      const reader = await read(topic, `group-of-${topic}`)
      const old = Array.from({ length: 20 }, (_, n) => `old ${n}`)
      await publish(topic, old)
      await reader.untilRead(old)
      await admin.deleteTopics({ topics: [topic] })
      if (when !== 'at once') await vi.waitFor(() => expect(logged).toContain('built again'), patience)
      await make(topic)
      await publish(topic, ['new 0', 'new 1'])
      await reader.untilRead(['new 0', 'new 1'])
      await publish(topic, ['new 2'])
      await reader.untilRead(['new 0', 'new 1', 'new 2'])
      await reader.close()
      const later = reader.delivered.filter(({ text }) => text.startsWith('new'))
      expect(later.map(({ offset }) => offset)).toEqual([0, 1, 2])
      expect(reader.delivered.filter(({ text }) => text.startsWith('old'))).toHaveLength(20)
      expect(new Set(reader.delivered.map(({ generation }) => generation)).size).toBeGreaterThan(1)
      expect(later[0]!.generation).not.toBe(reader.delivered[19]!.generation)
    },
  )
})
