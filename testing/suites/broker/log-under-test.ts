import { randomUUID } from 'node:crypto'
import type { Broker, Chunk, Consumption, LogRecord, OutgoingRecord } from '@tributary/broker/broker'
import { afterEach, beforeEach } from 'vitest'

/** One log that can be opened again and again. `open` rejects or waits when the engine allows only one opener. */
export interface BrokerUnderTest {
  open(): Promise<Broker>
  dispose(): Promise<void>
}

/** How long a test waits for a condition: a real Kafka may take seconds to move a partition. */
export const patience = { timeout: 180_000, interval: 10 }
const sizes = { bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 50 }

type ConsumeOptions = Parameters<Broker['consume']>[0]

/** A running consumer with the chunks that its `onChunk` took. */
interface TestConsumption extends Consumption {
  taken: Chunk[]
  /** The records of all taken chunks. */
  records(): LogRecord[]
}

/** The log of the running test, with a topic of two partitions and a group of its own. */
export interface LogUnderTest {
  broker: Broker
  topic: string
  group: string
  /** Closes the log and opens it again, as a restart does. */
  reopen(): Promise<void>
  record(text: string, partition?: number): OutgoingRecord
  publishTexts(texts: string[], partition?: number): Promise<unknown>
  /** Consumes the topic. A chunk is taken when `onChunk` resolves. */
  consume(onChunk?: (chunk: Chunk) => Promise<void>, options?: Partial<ConsumeOptions>): Promise<TestConsumption>
}

/** Opens the log before each test and closes it afterwards. The fields hold values only while a test runs. */
export function openLogUnderTest(start: () => Promise<BrokerUnderTest>): LogUnderTest {
  let under: BrokerUnderTest
  const log = {
    async reopen() {
      await log.broker.close()
      log.broker = await under.open()
    },
    record: (text: string, partition = 0) => ({ topic: log.topic, partition, key: null, value: Buffer.from(text) }),
    publishTexts: (texts: string[], partition = 0) =>
      log.broker.publish(texts.map((text) => log.record(text, partition))),
    async consume(onChunk: (chunk: Chunk) => Promise<void> = async () => {}, options: Partial<ConsumeOptions> = {}) {
      const taken: Chunk[] = []
      const consumption = await log.broker.consume({
        group: log.group,
        topic: log.topic,
        ...sizes,
        ...options,
        async onChunk(chunk) {
          await onChunk(chunk)
          taken.push(chunk)
        },
      })
      return { ...consumption, taken, records: () => taken.flatMap((chunk) => [...chunk.records]) }
    },
  } as LogUnderTest

  beforeEach(async () => {
    under = await start()
    log.broker = await under.open()
    log.topic = `tests.run.${randomUUID()}`
    log.group = `group-${randomUUID()}`
    await log.broker.applyTopics([{ name: log.topic, partitions: 2, retention_ms: 3_600_000 }])
  })
  afterEach(async () => {
    await log.broker.close()
    await under.dispose()
  })
  return log
}

/** The values of records as texts. */
export const textsOf = (records: readonly LogRecord[]): string[] => records.map(({ value }) => value.toString())

/** Commits all records of a chunk. */
export const commitAll = (chunk: Chunk): Promise<void> => chunk.commit(chunk.records.at(-1)!.offset + 1)
