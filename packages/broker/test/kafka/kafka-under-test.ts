import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import { openKafkaBroker } from '@tributary/broker/kafka'
import pino, { type Logger } from 'pino'
import type { TopicReplication } from '../../src/kafka/kafka-topics.ts'

export const openTestBroker = (
  url: string,
  options: { buffer_bytes_max?: number; replication?: TopicReplication; logger?: Logger } = {},
): Promise<Broker> =>
  openKafkaBroker({
    brokers: [url],
    client_id: 'test',
    linger_ms: 2,
    send_bytes_max: 512 * 1024,
    buffer_bytes_max: 32 * 1024 * 1024,
    logger: pino({ level: 'silent' }),
    ...options,
  })

/** A topic of this run only. */
export async function makeTopic(broker: Broker, partitions = 1): Promise<string> {
  const name = `tests.run.${randomUUID()}`
  await broker.applyTopics([{ name, partitions, retention_ms: 3_600_000 }])
  return name
}

export const fetchSizes = { bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 50 }
