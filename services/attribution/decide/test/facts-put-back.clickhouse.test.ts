import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Fact } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { deadLetterTopic } from '@tributary/contracts/topics'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { foundRecord } from '@tributary/tables/attribution/records'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { installAttributor } from '../src/install-attributor.ts'
import { app_id, company_id, hour_ms, install, t0 } from './model/story.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())
beforeEach(async () => {
  for (const table of ['install_facts_v1', 'install_fact_keys_v1']) await clickhouse.command(`TRUNCATE TABLE ${table}`)
})

const now = () => t0 + 3 * hour_ms
const { name: group, topic } = consumers.installAttributor

async function runToEnd(broker: MemoryBroker, using: Partial<Clickhouse> = {}) {
  const logger = pino({ level: 'silent' })
  const engine = { ...clickhouse, ...using }
  const consumer = installAttributor({
    ...{ broker, clickhouse: engine, lookups: clickhouseLookups(clickhouse), now, logger },
    redecisions: memoryRedecisions(),
    attributionApps: memoryAttributionApps([{ app_id, company_id }]),
    geo: { lookUp: () => ({ country: null, datacenter: false }) },
  })
  const pauses = { first_ms: 1, most_ms: 9 }
  const running = await runConsumer({ broker, consumer, logger, registry: new Registry(), now, pauses })
  await vi.waitFor(() => expect(broker.isDone(group, topic.name, 0)).toBe(true), { timeout: 180_000, interval: 5 })
  await running.close()
}

async function take(broker: MemoryBroker, facts: readonly Fact[], using: Partial<Clickhouse> = {}) {
  await broker.publish(facts.map((fact) => foundRecord(fact, 1)))
  // Verdicts are read at once: install-writer is not what this is about.
  const { topic: decided, name } = consumers.installWriter
  const groupOffsets: MemoryBroker['groupOffsets'] = async (of, from) =>
    of === name && from === decided.name ? [] : broker.groupOffsets(of, from)
  await runToEnd({ ...broker, groupOffsets }, using)
}

const stored = async () => {
  const rows = await clickhouse.query<{ install_uuid: string }>(
    'SELECT DISTINCT install_uuid FROM install_facts_v1 FINAL ORDER BY install_uuid',
  )
  return rows.map(({ install_uuid }) => install_uuid)
}

const newLog = () => memoryBroker(1, now)

test('the engine that was put back to an earlier state gets the lost facts again, under the same places', async () => {
  const broker = newLog()
  for (const n of [1, 2]) await take(broker, [install(n)])
  await clickhouse.command(`DELETE FROM install_facts_v1 WHERE install_uuid = 'i2'`)
  await take(broker, [install(3)])
  expect(await stored()).toEqual(['i1', 'i2', 'i3'])
  const [rows] = await clickhouse.query<{ rows: number }>(
    'SELECT toUInt32(count()) AS rows FROM install_facts_v1 FINAL',
  )
  expect(rows).toEqual({ rows: 3 })
})

test('a log that was put back loses no fact whose offset another one had before', async () => {
  const broker = newLog()
  await take(broker, [install(1)])
  const committed = broker.committed(group, topic.name, 0)!
  await take(broker, [install(2)])
  const back = newLog()
  await back.publish([foundRecord(install(1), 1)])
  back.setCommitted(group, topic.name, 0, committed)
  await take(back, [install(3)])
  expect(await stored()).toEqual(['i1', 'i2', 'i3'])
})

test('a fact that ClickHouse refuses becomes a dead letter; the others of its batch are stored and decided', async () => {
  const broker = newLog()
  const refusing: Clickhouse['insert'] = async (block) => {
    if (String(block.lines).includes('"i2"')) throw new Error('Code: 27. Cannot parse input (at row 1)')
    await clickhouse.insert(block)
  }
  await take(broker, [install(1), install(2), install(3)], { insert: refusing })
  expect(await stored()).toEqual(['i1', 'i3'])
  const dead = broker.records(deadLetterTopic(topic).name, 0)
  expect(dead.map(({ headers }) => headers.reason)).toEqual(['row_refused'])
  const decided = broker.records(consumers.installWriter.topic.name, 0)
  expect(decided.map(({ value }) => JSON.parse(value.toString()).install_uuid)).toEqual(['i1', 'i3'])
})
