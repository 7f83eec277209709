import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { clickWriter } from '@tributary/click-writer/click-writer'
import type { RawTableName } from '@tributary/contracts/raw-tables'
import { eventWriter } from '@tributary/event-writer/event-writer'
import type { ConsumerDefinition } from '@tributary/service-kit/consumer/define-consumer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { clickRecord } from '@tributary/tables/attribution/records'
import { rawSql } from '@tributary/tables/raw/raw-sql'
import { sealRaw } from '@tributary/tables/raw/seal'
import { postgresStamps } from '@tributary/tables/raw/stamps'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { noLateDays } from '@tributary/testing/twins/no-late-days'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

const logger = pino({ level: 'silent' })
const partitions = 2
const patience = { timeout: 120_000, interval: 5 }
const app_id = 'app_raw'

let clickhouse: TestClickhouse
let db: TestPostgres
beforeAll(async () => {
  ;[clickhouse, db] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), db.close()]))

/** Pulls window after window, as a client does. */
function reader(name: Exclude<RawTableName, 'erasures'>, consumer: string) {
  let since_ms = 0
  const rows: Record<string, unknown>[] = []
  return {
    rows,
    async pull() {
      const { complete_until_ms: until_ms } = await sealRaw(db.pool, consumer)
      expect(until_ms).toBeGreaterThanOrEqual(since_ms)
      const sql = rawSql(name, { app_id, since_ms, until_ms })
      const signal = new AbortController().signal
      const lines = await text(await clickhouse.stream(sql, { format: 'JSONEachRow', signal }))
      for (const line of lines.split('\n')) if (line !== '') rows.push(JSON.parse(line))
      since_ms = until_ms
    },
  }
}

class Crash extends Error {}

/** Lives of a consumer, each of which ends at a random step; the last one reads to the end. */
async function run<T>(
  broker: MemoryBroker,
  consumer: ConsumerDefinition<T>,
  steps: readonly number[],
  look: () => void,
) {
  const topic = consumer.topic.name
  const isDone = () =>
    Array.from({ length: partitions }, (_, n) => broker.isDone(consumer.name, topic, n)).every(Boolean)
  for (const last of [...steps, Number.POSITIVE_INFINITY]) {
    let left = last
    const crash = () => {
      look()
      if (left-- <= 0) throw new Crash()
    }
    const around = { broker, logger, registry: new Registry(), now: Date.now, pauses: { first_ms: 1, most_ms: 2 } }
    const running = await runConsumer({ ...around, consumer, crash })
    await vi.waitFor(() => expect(left < 0 || isDone()).toBe(true), patience)
    await running.close()
  }
}

const eventRecord = (partition: number, event_id: string) => {
  const envelope = {
    ...{ v: 1, company_id: 'co_1', app_id, platform: 'ios', source: 's2s', install_uuid: `i-${event_id}` },
    ...{ received_at_ms: Date.now(), ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: 'k' },
    events: [{ event_id, event_name: 'level_up', event_ts_ms: Date.now() }],
  }
  return {
    topic: 'events.accepted.v1',
    partition,
    key: null,
    value: Buffer.from(JSON.stringify(envelope)),
    headers: {},
  }
}

const click = (n: number) => ({
  ...{
    v: 1 as const,
    click_id: idOf(Date.now() - n * 60_000),
    company_id: 'co_1',
    app_id,
    link_id: 'l',
    partner: 'acme',
  },
  ...{ campaign: 'c', ad_group: null, creative: 'banner', ext_click_id: null, deep_link: null, lookback_hours: null },
  ...{ sub1: 's', sub2: null, sub3: null, sub4: null, sub5: null, clicked_at_ms: Date.now() - n * 60_000 },
  ...{ filtered_reason: null, ip: '203.0.113.7', country: 'DE', user_agent: 'Mozilla/5.0' },
  ...{ os: 'android' as const, os_major: 14, model: 'Pixel 8', device_hashes: [] },
})
const idOf = (ms: number): string => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

test('a reader of events has each row of the table once, though writers are killed and all is sent again', async () => {
  const broker = memoryBroker(partitions, Date.now)
  broker.chunk_records_max = 3
  const stamps = postgresStamps(db.pool)
  const events = reader('events', 'event-writer')
  const pulls: Promise<void>[] = []
  let pulling = Promise.resolve()
  const look = () => {
    pulling = pulling.then(() => events.pull())
    pulls.push(pulling)
  }
  const records = Array.from({ length: 24 }, (_, n) => eventRecord(n % partitions, `e${n}`))
  await broker.publish(records)
  const consumer = eventWriter({ clickhouse, stamps, logger })
  await run(broker, consumer, [1, 7, 3, 12], look)
  // Replayed and retried ones, and new ones behind them.
  await broker.publish([...records.slice(0, 8), ...[24, 25].map((n) => eventRecord(0, `e${n}`))])
  await run(broker, consumer, [2, 4], look)
  await Promise.all(pulls)
  await vi.waitFor(async () => {
    await events.pull()
    expect(events.rows.length).toBeGreaterThanOrEqual(26)
  }, patience)
  const names = events.rows.map(({ event_id }) => String(event_id))
  expect(names.toSorted()).toEqual(Array.from({ length: 26 }, (_, n) => `e${n}`).toSorted())
  expect(events.rows.every(({ stored_at_ms }) => Number(stored_at_ms) > 0)).toBe(true)
})

test('a reader of clicks has each click once, though they are replayed, and the log is read again', async () => {
  const broker = memoryBroker(partitions, Date.now)
  broker.chunk_records_max = 3
  const clicks = Array.from({ length: 12 }, (_, n) => click(n))
  const source = reader('clicks', 'click-writer')
  const consumer = clickWriter({
    ...{
      clickhouse,
      stamps: postgresStamps(db.pool),
      audit: memoryAuditStore(),
      late: noLateDays,
      now: Date.now,
      logger,
    },
    ...{ attributionApps: memoryAttributionApps(), redecisions: memoryRedecisions({ partitions }) },
  })
  await broker.publish(clicks.map((one) => clickRecord(one, partitions)))
  await run(broker, consumer, [3, 6], () => {})
  await source.pull()
  await broker.publish([...clicks.slice(3), click(20)].map((one) => clickRecord(one, partitions)))
  await run(broker, consumer, [4], () => {})
  await clickhouse.command('OPTIMIZE TABLE clicks_raw_v1 FINAL')
  await vi.waitFor(async () => {
    await source.pull()
    expect(source.rows.length).toBeGreaterThanOrEqual(13)
  }, patience)
  const names = source.rows.map(({ click_id }) => String(click_id))
  expect([names.length, new Set(names).size]).toEqual([13, 13])
  expect(source.rows[0]).toMatchObject({ link_id: 'l', creative: 'banner', ad_group: '', sub1: 's' })
})
