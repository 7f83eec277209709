import { frozenSql } from '@tributary/tables/attribution/frozen-clicks'
import { changeCompany, createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runRetention } from '../src/run-retention.ts'
import { after, dayOf, first_ms, storeDays } from './stored-days.ts'

let postgres: TestPostgres
let clickhouse: TestClickhouse
beforeAll(async () => {
  ;[postgres, clickhouse] = await Promise.all([openTestPostgres(), openTestClickhouse()])
})
afterAll(() => Promise.all([postgres.close(), clickhouse.close()]))

const request = { actor: 'test', request_id: 'r', now_ms: first_ms }
const audit = memoryAuditStore()

const runAt = (days: number) => {
  const now = () => after(days)
  const deps = { pool: postgres.pool, clickhouse, broker: memoryBroker(1, now), audit, now, wait_ms: 20 }
  return runRetention(
    { ...deps, pause: async () => {}, logger: pino({ level: 'silent' }) },
    new AbortController().signal,
  )
}

test('clicks are counted for ever before they are deleted, and one of a counted day that comes later is not', async () => {
  const { company_id } = await createCompany(postgres.pool, { name: 'A', plan: 'free' }, request)
  const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
  const input = { company_id, name: 'Game', platform: 'android' as const }
  const { app_id } = await createApp(postgres.pool, masterKeys, input, request)
  await changeCompany(postgres.pool, company_id, { keep_click_days: 3 }, request)
  const frozen = () =>
    clickhouse.query(
      `SELECT toString(day) AS on, partner, link_id, clicks FROM ${frozenSql(`'${app_id}'`)} ORDER BY on`,
    )
  const store = (days: readonly number[]) => storeDays({ clickhouse, audit }, { company_id, app_id }, days)
  await store([0, 0, 1, 2, 3])
  await runAt(4)
  const first = { on: dayOf(0), partner: 'p', link_id: 'l', clicks: 2 }
  expect(await frozen()).toEqual([first])
  await store([0])
  await runAt(5)
  expect(await frozen()).toEqual([first, { on: dayOf(1), partner: 'p', link_id: 'l', clicks: 1 }])
  const left = await clickhouse.query(
    `SELECT DISTINCT toString(day) AS on FROM clicks_raw_v1 WHERE app_id = '${app_id}' ORDER BY on`,
  )
  expect(left).toEqual([{ on: dayOf(2) }, { on: dayOf(3) }])
})
