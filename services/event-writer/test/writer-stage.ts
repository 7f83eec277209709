import { randomBytes, randomUUID } from 'node:crypto'
import type { Broker, LogRecord, OutgoingRecord } from '@tributary/broker/broker'
import { openKafkaBroker } from '@tributary/broker/kafka'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer, type ServerOptions } from '@tributary/clickhouse/server'
import type { Envelope } from '@tributary/contracts/envelope'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { type RunConsumerOptions, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, vi } from 'vitest'
import { eventWriter } from '../src/event-writer.ts'

export const patience = { timeout: 180_000, interval: 50 }
const silent = pino({ level: 'silent' })

export const newAppId = () => `app_${randomBytes(10).toString('hex')}`

export const openLog = (kafka_url: string, logger: Logger = silent): Promise<Broker> =>
  openKafkaBroker({
    brokers: [kafka_url],
    client_id: 'test',
    linger_ms: 2,
    send_bytes_max: 1_000_000,
    buffer_bytes_max: 64 * 1024 * 1024,
    logger,
  })

/** A topic of this test only, with its dead-letter topic. */
export async function makeTopic(broker: Broker, partitions: number): Promise<Topic> {
  const topic = { name: `tests.run.${randomUUID()}`, partitions, retention_ms: 3_600_000 }
  await broker.applyTopics([topic, deadLetterTopic(topic)])
  return topic
}

export const openServer = (url: string, given: Partial<ServerOptions> = {}): Promise<Clickhouse> =>
  openClickhouseServer({ url, connect_timeout_ms: 1000, query_timeout_ms: 10_000, max_open_connections: 8, ...given })

/** A migrated ClickHouse server. */
export async function openMigrated(url: string): Promise<Clickhouse> {
  const clickhouse = await openServer(url)
  await migrateClickhouse({ clickhouse })
  return clickhouse
}

/** The event-writer on one topic, in a group of the topic's own, with pauses that suit a test. */
export async function startWriter(
  given: { broker: Broker; clickhouse: Clickhouse; topic: Topic } & Pick<
    Partial<RunConsumerOptions<never>>,
    'crash' | 'fetch'
  >,
) {
  const { broker, clickhouse, topic, crash, fetch } = given
  const registry = new Registry()
  const running = await runConsumer({
    broker,
    consumer: { ...eventWriter({ clickhouse, logger: silent }), topic, name: groupOf(topic) },
    logger: silent,
    registry,
    now: Date.now,
    fetch: { bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 50, ...fetch },
    pauses: { first_ms: 50, most_ms: 500 },
    ...(crash && { crash }),
  })
  return {
    close: () => running.close(),
    /** The sum of a counter of the consumer over all labels but these. */
    async count(name: string, labels: Record<string, string> = {}): Promise<number> {
      const { values } = (await registry.getSingleMetric(`tributary_consumer_${name}_total`)?.get()) ?? { values: [] }
      const wanted = Object.entries(labels)
      return values
        .filter((found) => wanted.every(([label, value]) => found.labels[label] === value))
        .reduce((sum, { value }) => sum + value, 0)
    },
  }
}

export const groupOf = (topic: Topic): string => `group-of-${topic.name}`

/** Resolves when the writer has committed everything that the topic holds. */
export const untilWritten = (broker: Broker, topic: Topic): Promise<void> =>
  vi.waitFor(async () => {
    const offsets = await broker.groupOffsets(groupOf(topic), topic.name)
    expect(offsets.filter(({ committed, end }) => (committed ?? 0) < end)).toEqual([])
  }, patience)

export function envelopeOf(app_id: string, install_uuid: string, events: Envelope['events']): Envelope {
  return {
    v: 1,
    company_id: 'co_1',
    app_id,
    platform: 'android',
    source: 'sdk',
    install_uuid,
    received_at_ms: Date.UTC(2026, 0, 2, 12),
    ip: '203.0.113.7',
    user_agent: '',
    sdk: '',
    sdk_platform: '',
    audit_key: '',
    events,
  }
}

export const eventOf = (event_id: string, more: Record<string, unknown> = {}): Envelope['events'][number] => ({
  event_id,
  event_name: 'level_up',
  event_ts_ms: Date.UTC(2026, 0, 2, 12),
  ...more,
})

export const recordOf = ({ name }: Topic, partition: number, value: Envelope | Buffer): OutgoingRecord => ({
  topic: name,
  partition,
  key: 'key',
  value: Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value)),
})

/** What every table says that an app has; all numbers are equal when each event is there exactly once. */
export async function countsOf(clickhouse: Clickhouse, app_id: string) {
  const of = (expression: string, table: string) =>
    `(SELECT toUInt32(${expression}) FROM ${table} WHERE app_id = {app_id:String})`
  const [row] = await clickhouse.query<
    Record<'raw' | 'different' | 'keys' | 'per_day' | 'installs' | 'active', number>
  >(
    `SELECT ${of('count()', 'events_raw_v1')} AS raw,
      ${of('uniqExact(install_uuid, event_id)', 'events_raw_v1')} AS different,
      ${of('count()', 'event_keys_v1')} AS keys,
      ${of('sum(events)', 'events_per_day_v1')} AS per_day,
      ${of('uniqExactMerge(installs)', 'event_installs_per_day_v1')} AS installs,
      ${of('uniqExact(install_key)', 'activity_by_day_v1')} AS active`,
    { app_id },
  )
  return row!
}

/** The counts when `events` events of `installs` installs are there, each exactly once. */
export const exactly = (events: number, installs: number) => ({
  raw: events,
  different: events,
  keys: events,
  per_day: events,
  installs,
  active: installs,
})

/** All records of a topic, by partition and offset. */
export async function readAll(broker: Broker, topic: string): Promise<LogRecord[]> {
  const group = `reader-${randomUUID()}`
  const total = (await broker.groupOffsets(group, topic)).reduce((sum, { earliest, end }) => sum + end - earliest, 0)
  const found = new Map<string, LogRecord>()
  if (total === 0) return []
  const consumption = await broker.consume({
    group,
    topic,
    bytes_min: 1,
    bytes_max: 8 * 1024 * 1024,
    wait_ms_max: 50,
    async onChunk({ records }) {
      for (const record of records) found.set(`${record.partition}/${record.offset}`, record)
    },
  })
  await vi.waitFor(() => expect(found.size).toBe(total), patience)
  await consumption.close()
  return [...found.values()].sort((a, b) => a.partition - b.partition || a.offset - b.offset)
}
