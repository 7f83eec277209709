import { setTimeout as pause } from 'node:timers/promises'
import type { Broker, OutgoingRecord } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { storedEventColumns } from '@tributary/contracts/rows'
import { topics } from '@tributary/contracts/topics'
import { joinLines } from '@tributary/event-writer/event-line'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import pino from 'pino'
import { Registry } from 'prom-client'
import { type CpuSpent, startCpuWatch } from './cpu-watch.ts'
import { type EventLoad, envelopeOf, events_per_envelope } from './events.ts'

const topic = topics.eventsAccepted.name

export interface Measured extends CpuSpent {
  rows: number
  /** Mean rows of an insert. */
  block_rows: number
}

/** Publishes a load to the log. This is not measured. */
export async function fillLog(broker: Broker, load: EventLoad, rows: number): Promise<void> {
  const partitions = await broker.partitionCount(topic)
  const envelopes = Math.ceil(rows / events_per_envelope)
  for (let at = 0; at < envelopes; at += 200) {
    const numbers = Array.from({ length: Math.min(200, envelopes - at) }, (_, i) => at + i)
    const records = numbers.map((n) => {
      const envelope = envelopeOf(load, n)
      const partition = installPartition(load.app_id, envelope.install_uuid, partitions)
      return { topic, partition, key: envelope.install_uuid, value: Buffer.from(JSON.stringify(envelope)) }
    })
    await publishAgain(broker, records)
  }
}

/** Repeats a publish that was not acknowledged, as clients do. Kafka on a busy machine may be late. */
async function publishAgain(broker: Broker, records: readonly OutgoingRecord[]): Promise<void> {
  for (let tries = 10; ; tries -= 1) {
    try {
      return await broker.publish(records)
    } catch (error) {
      if (tries === 1) throw error
    }
  }
}

/** Writes the whole log to ClickHouse through the event-writer, and measures it. */
export async function measureWriter(broker: Broker, clickhouse: Clickhouse, expected: number): Promise<Measured> {
  const blocks: number[] = []
  const done = Promise.withResolvers<void>()
  const counting: Clickhouse = {
    ...clickhouse,
    insert: async (block) => {
      await clickhouse.insert(block)
      blocks.push(countLines(block.lines))
      if (sum(blocks) >= expected) done.resolve()
    },
  }
  const registry = new Registry()
  const logger = pino({ level: 'warn' })
  const consumer = eventWriter({ clickhouse: counting, registry, logger })
  const watch = startCpuWatch()
  const fetch = { wait_ms_max: 50 }
  const running = await runConsumer({ broker, consumer, logger, registry, now: Date.now, fetch })
  const over = new AbortController()
  await Promise.race([done.promise, allCommitted(broker, consumer.name, over.signal)])
  const spent = watch()
  over.abort()
  await running.close()
  const rows = sum(blocks)
  return { rows, ...spent, block_rows: Math.round(rows / blocks.length) }
}

/** Inserts the same rows, encoded in advance: same table, views and block size, two inserts at a time. */
export async function measureEngine(
  clickhouse: Clickhouse,
  load: EventLoad,
  rows: number,
  block_rows: number,
): Promise<Measured> {
  const { decode } = eventWriter({ clickhouse })
  const blocks: Buffer[] = []
  let records: Buffer[] = []
  for (let n = 0; n * events_per_envelope < rows; n += 1) {
    const envelope = envelopeOf(load, n)
    const value = Buffer.from(JSON.stringify(envelope))
    const record = { topic, partition: 2000, offset: n, key: null, headers: {}, timestamp_ms: 0, value }
    records.push(joinLines(decode(record, `${topic}@bench`), 0))
    if (records.length * events_per_envelope < block_rows) continue
    blocks.push(Buffer.concat(records))
    records = []
  }
  if (records.length > 0) blocks.push(Buffer.concat(records))
  const watch = startCpuWatch()
  const work = blocks.map((block, n) => ({ block, token: `bench/${load.seed}/${n}` }))
  const worker = async () => {
    for (let next = work.shift(); next !== undefined; next = work.shift()) {
      const { block, token } = next
      await clickhouse.insert({ table: 'events_raw_v1', columns: storedEventColumns, lines: block, token })
    }
  }
  await Promise.all([worker(), worker()])
  return { rows, ...watch(), block_rows }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** Resolves when the group committed everything, in case rows were dropped. Polls rarely: on Kafka this takes many requests. */
async function allCommitted(broker: Broker, group: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(1000)
    const offsets = await broker.groupOffsets(group, topic).catch(() => null)
    if (offsets?.every(({ committed, end }) => (committed ?? 0) === end)) return
  }
}

/** The writer ends each line with a newline. */
function countLines(lines: Buffer | string): number {
  let count = 0
  for (let at = lines.indexOf('\n'); at !== -1; at = lines.indexOf('\n', at + 1)) count += 1
  return count
}
