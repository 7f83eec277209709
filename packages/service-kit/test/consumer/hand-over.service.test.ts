import { setTimeout as pause } from 'node:timers/promises'
import type { ConsumerGroup } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import { deadLetterTopic } from '@tributary/contracts/topics'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { defineConsumer } from '../../src/consumer/define-consumer.ts'
import { isMark, publishMarks } from '../../src/consumer/hand-over.ts'
import { runConsumer } from '../../src/consumer/run-consumer.ts'

const topic = { name: 'events.v1', partitions: 1, retention_ms: 1000 }
const to = 'events.v2'
const before: ConsumerGroup = { name: 'writer', topic, after: null }

/** A log of one partition for each topic, its consumer, and what that handled. */
async function start(group: ConsumerGroup, broker = memoryBroker(1, Date.now)) {
  const handled: string[] = []
  const running = await runConsumer({
    broker,
    consumer: defineConsumer<string>({
      ...group,
      decode: ({ value }) => String(value),
      async handle({ records }) {
        handled.push(...records.map(({ value }) => value))
      },
    }),
    ...{ logger: pino({ level: 'silent' }), registry: new Registry(), now: Date.now },
  })
  onTestFinished(() => running.close())
  const publish = (value: string) =>
    broker.publish([
      { topic: topic.name, partition: 0, key: 'k', value: Buffer.from(value), headers: { trace: value } },
    ])
  const untilRead = async () => {
    const end = () => broker.records(topic.name, 0).length
    const deadline = Date.now() + 180_000
    while (broker.committed(group.name, topic.name, 0)?.offset !== end()) {
      if (Date.now() > deadline) throw new Error('not read in time')
      await pause(1)
    }
  }
  return { broker, handled, publish, untilRead }
}

test('what stands before the mark is handled, what comes behind it is moved as it is, over any restart', async () => {
  const { broker, handled, publish, untilRead } = await start(before)
  await publish('a')
  await publishMarks(broker, topic.name, to)
  await publish('b')
  await untilRead()
  await publishMarks(broker, topic.name, to)
  await publish('c')
  await untilRead()
  const again = await start(before, broker)
  await publish('d')
  await untilRead()
  expect([handled, again.handled]).toEqual([['a'], []])
  const moved = broker.records(to, 0).map(({ key, value, headers }) => [key, value.toString(), headers.trace])
  expect(moved).toEqual(['b', 'c', 'd'].map((value) => ['k', value, value]))
})

test('a record that the new topic does not take becomes a dead letter, and the rest goes on', async () => {
  const { broker, publish, untilRead } = await start(before)
  await publishMarks(broker, topic.name, to)
  const large = 'a'.repeat(limits.log_record_bytes_max + 1)
  await broker.publish([{ topic: topic.name, partition: 0, key: null, value: Buffer.from(large) }])
  await publish('b')
  await untilRead()
  expect(broker.records(to, 0).map(({ value }) => value.toString())).toEqual(['b'])
  const [letter] = broker.records(deadLetterTopic(topic).name, 0)
  expect(letter?.headers).toMatchObject({
    reason: 'too_large',
    source_offset: '1',
    too_large_bytes: String(large.length),
  })
})

test('what is moved is moved whole, though its consumer needs no value of it', async () => {
  const unread = { ...before, needsValue: () => false }
  const { broker, handled, publish, untilRead } = await start(unread)
  await publish('a')
  await publishMarks(broker, topic.name, to)
  await publish('b')
  await untilRead()
  expect(handled).toEqual([])
  expect(broker.records(to, 0).map(({ value }) => value.toString())).toEqual(['b'])
})

test('a consumer that takes no part meets the mark as a record like any', async () => {
  const { broker, handled, publish, untilRead } = await start({ name: 'other', topic })
  await publishMarks(broker, topic.name, to)
  await publish('a')
  await untilRead()
  expect(handled).toEqual(['', 'a'])
  expect(broker.records(to, 0)).toEqual([])
})

test('a record is not inflated to see whether it is a mark', () => {
  const inflated = () => {
    throw new Error('inflated')
  }
  const record = {
    headers: { facts: '0' },
    get value(): Buffer {
      return inflated()
    },
  }
  expect(isMark(record)).toBe(false)
})
