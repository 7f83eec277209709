import { once } from 'node:events'
import type { Broker } from '@tributary/broker/broker'
import { postbackPartition } from '@tributary/broker/partition'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import { topics } from '@tributary/contracts/topics'
import { postbackWriter } from '@tributary/postback-writer/postback-writer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import type { AppleTwin } from '@tributary/testing/postback/apple-twin'
import pino from 'pino'
import { Registry } from 'prom-client'
import { postbackBodies } from './postback-bodies.ts'

export interface WriterBench {
  clickhouse: Clickhouse
  broker: Broker
  apple: AppleTwin
}

const topic = topics.postbacksReceived.name
const partitions = 4

/** Makes postbacks, and resolves when the postback-writer has written them all. */
export async function measurePostbackWriter({ clickhouse, broker, apple }: WriterBench, count: number): Promise<void> {
  const bodies = postbackBodies(apple, '4.0', count)
  const records = bodies.map(({ protocol, body }, n) => {
    const record: PostbackReceived = {
      ...{
        v: 1,
        protocol,
        content_type: 'application/json',
        body,
        received_at_ms: Date.now(),
        audit_key: `bench/${n}`,
      },
    }
    return {
      topic,
      partition: postbackPartition(`${n}`, partitions),
      key: `${n}`,
      value: Buffer.from(JSON.stringify(record)),
    }
  })
  for (let at = 0; at < records.length; at += 1000) await broker.publish(records.slice(at, at + 1000))
  let left = count
  const done = new EventTarget()
  const counting: Clickhouse = {
    ...clickhouse,
    async insert(block) {
      await clickhouse.insert(block)
      if (block.table !== 'postbacks_decoded_v1') return
      left -= String(block.lines).split('\n').length
      if (left <= 0) done.dispatchEvent(new Event('end'))
    },
  }
  const logger = pino({ level: 'warn' })
  const consumer = postbackWriter({ clickhouse: counting, postbackKeys: { current: () => apple.keys }, logger })
  const ended = once(done, 'end')
  const running = await runConsumer({ broker, consumer, logger, registry: new Registry(), now: Date.now })
  await ended
  await running.close()
}
