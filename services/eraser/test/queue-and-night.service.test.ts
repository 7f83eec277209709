import { topics } from '@tributary/contracts/topics'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { findRun, requestRun } from '@tributary/erasure/runs'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eraser } from '../src/eraser.ts'
import { erasureJob } from '../src/run/nightly.ts'
import type { EraserDeps } from '../src/run/run-erasures.ts'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const midnight = Date.UTC(2026, 5, 1)
const hour_ms = 3_600_000
const logger = pino({ level: 'silent' })

let db: TestPostgres
beforeAll(async () => {
  db = await openTestPostgres()
})
afterAll(() => db.close())

async function makeApp(): Promise<string> {
  const request = { actor: 'test', request_id: 'r', now_ms: midnight }
  const { company_id } = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, request)
  return (await createApp(db.pool, masterKeys, { company_id, name: 'Game', platform: 'ios' }, request)).app_id
}

const recordOf = (app_id: string, install_uuid: string, requested_at_ms: number) => ({
  ...{ topic: topics.erasuresRequested.name, partition: 0, key: null },
  value: Buffer.from(
    JSON.stringify({ v: 1, company_id: 'co_1', app_id, install_uuid, requested_at_ms, audit_key: 'privacy/a' }),
  ),
})

test('requests are queued in any order and any number of times, and one of no app becomes a dead letter', async () => {
  const app_id = await makeApp()
  const broker = memoryBroker(1, () => midnight)
  const later = recordOf(app_id, 'a', midnight + 2)
  await broker.publish([later, recordOf(app_id, 'a', midnight + 1), recordOf('none', 'b', midnight), later])
  const consumer = eraser({ postgres: db.pool, masterKeys })
  const registry = new Registry()
  const running = await runConsumer({ broker, consumer, logger, registry, now: () => midnight })
  const isDone = () => broker.isDone(consumer.name, consumer.topic.name, 0)
  await vi.waitFor(() => expect(isDone()).toBe(true), { timeout: 180_000, interval: 1 })
  await running.close()
  const { rows } = await db.pool.query('SELECT install_uuid, requested_at_ms FROM erasure_requests WHERE app_id = $1', [
    app_id,
  ])
  expect(rows).toEqual([{ install_uuid: 'a', requested_at_ms: String(midnight + 2) }])
  expect(await findCertificate({ pool: db.pool, masterKeys }, app_id, 'a')).toMatchObject({ state: 'queued' })
  expect(await registry.getSingleMetricAsString('tributary_consumer_dead_total')).toContain('unknown_app')
})

test('the eraser runs once a night from 02:00 UTC on, and whenever somebody asks', async () => {
  await db.pool.query('DELETE FROM erasure_requests')
  let now_ms = midnight + 2 * hour_ms - 1
  const deps = {
    ...{ pool: db.pool, masterKeys, keyValue: memoryKeyValue(() => now_ms), now: () => now_ms, logger },
    clickhouse: { isInserting: async () => false },
    audit: { rewriteNoted: async () => {} },
  } as unknown as EraserDeps
  const job = erasureJob(deps)
  const nights = async () => {
    await job(new AbortController().signal)
    const { rows } = await db.pool.query('SELECT night::text, ended_at_ms FROM erasure_runs ORDER BY run')
    return rows
  }
  expect(await nights()).toEqual([])
  now_ms += 1
  const first = { night: '2026-06-01', ended_at_ms: String(now_ms) }
  expect(await nights()).toEqual([first])
  now_ms += 20 * hour_ms
  expect(await nights()).toEqual([first])
  const run = await requestRun(db.pool, now_ms)
  expect(await requestRun(db.pool, now_ms)).toBe(run)
  expect(await findRun(db.pool, run)).toMatchObject({ done: false, drained: 0 })
  await nights()
  expect(await findRun(db.pool, run)).toMatchObject({ done: true, drained: 0, batches: [] })
})
