import { randomBytes } from 'node:crypto'
import { adminApi } from '@tributary/admin-api/app'
import type { Broker } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { topics } from '@tributary/contracts/topics'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { retryWhenAsked } from '@tributary/replayer/retry-when-asked'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { every } from '@tributary/service-kit/service/every'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, onTestFinished, vi } from 'vitest'

const topic = topics.eventsAccepted.name
const app_id = `app_${randomBytes(10).toString('hex')}`
const at_ms = Date.UTC(2026, 0, 2, 12)
const logger = pino({ level: 'silent' })
const patience = { timeout: 180_000, interval: 50 }

const installs = Array.from({ length: 9 }, (_, n) => `i-${n}`)
const refused = installs.filter((_, n) => n % 3 === 2)
const written = { raw: 18, keys: 18, per_day: 18 }

/** What each table says that the app has: the same number when each event is there exactly once. */
async function countsOf(clickhouse: Clickhouse) {
  const of = (expression: string, table: string) =>
    `(SELECT toUInt32(${expression}) FROM ${table} WHERE app_id = {app_id:String})`
  const [row] = await clickhouse.query(
    `SELECT ${of('count()', 'events_raw_v1')} AS raw, ${of('count()', 'event_keys_v1')} AS keys,
      ${of('sum(events)', 'events_per_day_v1')} AS per_day`,
    { app_id },
  )
  return row
}

const requestOf = (install_uuid: string, partitions: number) => {
  const base = { event_name: 'level_up', event_ts_ms: at_ms }
  const product_id = refused.includes(install_uuid) ? 'silver' : 'gold'
  const events = [
    { ...base, event_id: '1' },
    { ...base, event_id: '2', product_id },
  ]
  const value = Buffer.from(
    JSON.stringify({
      ...{ v: 1, company_id: 'co_1', app_id, platform: 'android', source: 'sdk', install_uuid, events },
      ...{ received_at_ms: at_ms, ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '' },
    }),
  )
  return {
    topic,
    partition: installPartition(app_id, install_uuid, partitions),
    key: `${app_id}/${install_uuid}`,
    value,
  }
}

/** The admin API over the log, with the replayer. */
async function openAdmin(pool: Pool, broker: Broker) {
  const admin_token = 'a-token-of-this-test-and-no-other'
  const app = createHttpApp({ logger })
  const status = async () => ({ ready: true, consumers: [], bindings: {} })
  const stores = {
    audit: memoryAuditStore(),
    clickhouse: {} as never,
    costs: {} as never,
    keyValue: memoryKeyValue(Date.now),
    masterKeys: {} as never,
    sessions: { find: async () => null },
  }
  await app.register(
    adminApi({ ...stores, pool, broker, admin_token, status, now: Date.now, logger, registry: new Registry() }),
  )
  const work = retryWhenAsked({ pool, broker, now: Date.now, logger })
  const retrying = every({ name: 'dead_retry', pause_ms: 50, logger, registry: new Registry(), work })
  onTestFinished(() => retrying.close())
  const headers = { authorization: `Bearer ${admin_token}`, 'content-type': 'application/json' }
  return async (method: 'GET' | 'POST', path: string, payload?: object) => {
    const answer = await app.inject({
      method,
      url: `/admin/api/v1/dead-letters${path}`,
      headers,
      ...(payload && { payload }),
    })
    return { status: answer.statusCode, body: answer.json() }
  }
}

/** A schema that was changed by hand refuses rows; undone, a retry brings them all back, killed half-way or not. */
export async function tellDeadLetterStory(broker: Broker, clickhouse: Clickhouse, pool: Pool): Promise<void> {
  const partitions = await broker.partitionCount(topic)
  const requests = installs.map((install_uuid) => requestOf(install_uuid, partitions))
  await clickhouse.command("ALTER TABLE events_raw_v1 MODIFY COLUMN product_id Enum8('' = 0, 'gold' = 1)")
  await broker.publish([...requests, { ...requests[0]!, value: Buffer.from('no JSON') }])
  const writer = await runConsumer({
    ...{
      broker,
      consumer: eventWriter({ clickhouse }),
      logger,
      registry: new Registry(),
      now: Date.now,
    },
    fetch: { bytes_min: 1, wait_ms_max: 50 },
  })
  const untilWritten = () =>
    vi.waitFor(async () => {
      const offsets = await broker.groupOffsets('event-writer', topic)
      expect(offsets.filter(({ committed, end }) => (committed ?? 0) < end)).toEqual([])
    }, patience)
  await untilWritten()

  let dies = false
  const marks = (topic_of: string) => topic_of.endsWith('.dead')
  const mortal: typeof broker = {
    ...broker,
    async publish(records) {
      if (dies && marks(records[0]!.topic)) throw new Error('killed between records and marks')
      await broker.publish(records)
    },
  }
  const ask = await openAdmin(pool, mortal)
  const list = async () =>
    (await ask('GET', '')).body.dead.map(({ reason, count }: { reason: string; count: number }) => [reason, count])
  const before = await list()
  // Kafka may hold a record twice when an answer to its publish got lost.
  const [letters, undecodable] = before.map(([, count]: [string, number]) => count)
  expect(before).toEqual([
    ['row_refused', letters],
    ['undecodable', undecodable],
  ])
  expect(letters).toBeGreaterThanOrEqual(refused.length)
  expect(await countsOf(clickhouse)).toEqual({ raw: 12, keys: 12, per_day: 12 })

  // The cause is still there: they die again.
  expect((await ask('POST', '/retry', { reason: 'row_refused' })).body).toEqual({ retried: letters })
  await untilWritten()
  expect(await list()).toEqual(before)

  await clickhouse.command('ALTER TABLE events_raw_v1 MODIFY COLUMN product_id String')
  dies = true
  expect((await ask('POST', '/retry', { reason: 'row_refused' })).status).toBe(503)
  dies = false
  await untilWritten()
  expect(await countsOf(clickhouse)).not.toEqual({ raw: 12, keys: 12, per_day: 12 })
  expect((await ask('POST', '/retry', { reason: 'row_refused' })).body.retried).toBe(letters)
  await untilWritten()
  expect(await countsOf(clickhouse)).toEqual(written)
  expect(await list()).toEqual([['undecodable', undecodable]])
  expect((await ask('POST', '/retry', { reason: 'row_refused' })).body).toEqual({ retried: 0 })

  // Clients that send again change nothing either.
  await broker.publish(requests)
  await untilWritten()
  expect(await countsOf(clickhouse)).toEqual(written)
  await writer.close()
}
