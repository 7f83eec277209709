import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import type { KeyValue } from '@tributary/key-value/key-value'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { bodyBytesKey, quotaKey } from '@tributary/tenancy/quota/quota-key'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { reconcileQuota } from '../../src/quota/reconcile-quota.ts'

let postgres: TestPostgres
let clickhouse: TestClickhouse
let keyValue: KeyValue
let now_ms: number
const now = () => now_ms
beforeAll(async () => {
  postgres = await openTestPostgres()
  clickhouse = await openTestClickhouse()
})
beforeEach(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-reconcile-'))
  keyValue = await openEmbeddedKeyValue({ dir, now })
  onTestFinished(async () => {
    await keyValue.close()
    await rm(dir, { recursive: true })
  })
})
afterAll(async () => {
  await clickhouse.close()
  await postgres.close()
})

async function companyWithApps() {
  const { pool } = postgres
  const actor = { actor: 'test', request_id: 'test', now_ms: 0 }
  const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
  const { company_id } = await createCompany(pool, { name: 'Acme', plan: 'free' }, actor)
  const app = async () =>
    (await createApp(pool, masterKeys, { company_id, name: 'App', platform: 'ios' }, actor)).app_id
  return { company_id, apps: [await app(), await app()] as const }
}

/** A round, with a log that holds nothing unwritten; the clock stands still but for what the round waits. */
async function reconcile() {
  const broker = { groupOffsets: async () => [] }
  const pause = async (ms: number) => {
    now_ms += ms
  }
  const deps = { pool: postgres.pool, clickhouse, keyValue, broker, now, pause }
  await reconcileQuota(deps, new AbortController().signal)
}

const received = (app_id: string, received_at_ms: number, day: string) =>
  testEventRow({ app_id, received_at_ms, ts_ms: Date.parse(day) })

test('counters that were lost come back from what ClickHouse holds, by received month, and one with too much is lowered', async () => {
  const lost = await companyWithApps()
  const ahead = await companyWithApps()
  const december = Date.UTC(2026, 11, 1, 0, 30)
  const november = Date.UTC(2026, 10, 30, 23, 59)
  await clickhouse.insertEvents(
    [
      received(lost.apps[0], november, '2026-11-30'),
      received(lost.apps[0], december, '2026-01-05'),
      received(lost.apps[0], december, '2026-12-01'),
      received(lost.apps[1], december + 1, '2026-12-02'),
      received(ahead.apps[0], december, '2026-12-01'),
    ],
    randomUUID(),
  )
  now_ms = december + 60_000
  await keyValue.addCapped(quotaKey(ahead.company_id, december), 9, null, 3_600_000)
  await reconcile()
  await reconcile()
  const used = (company_id: string, at_ms: number) => keyValue.get(quotaKey(company_id, at_ms))
  expect(await used(lost.company_id, december)).toBe(3)
  expect(await used(lost.company_id, november)).toBe(1)
  expect(await used(ahead.company_id, december)).toBe(1)
})

test('what a crash stranded comes back, also of a company that has no event in the tables', async () => {
  const { company_id, apps } = await companyWithApps()
  const other = await companyWithApps()
  now_ms = Date.UTC(2026, 11, 7)
  await clickhouse.insertEvents([received(apps[0], now_ms, '2026-12-07')], randomUUID())
  await keyValue.addCapped(quotaKey(company_id, now_ms), 501, null, 3_600_000)
  await keyValue.addCapped(quotaKey(other.company_id, now_ms), 500, null, 3_600_000)
  await keyValue.addCapped(bodyBytesKey(company_id, now_ms), 983_000, null, 3_600_000)
  await reconcile()
  expect(await keyValue.get(quotaKey(company_id, now_ms))).toBe(1)
  expect(await keyValue.get(quotaKey(other.company_id, now_ms))).toBe(0)
  // What was stored stays stored.
  expect(await keyValue.get(bodyBytesKey(company_id, now_ms))).toBe(983_000)
})

test('of several processes one settles, and another one goes on when its session ends', async () => {
  const { pool } = postgres
  const first = Promise.withResolvers<void>()
  const holding = unlessRunning(pool, 'quota_reconciliation', () => first.promise)
  await expect.poll(() => unlessRunning(pool, 'quota_reconciliation', reconcile)).toBeNull()
  first.resolve()
  await holding
  expect(await unlessRunning(pool, 'quota_reconciliation', async () => 'mine')).toEqual({ result: 'mine' })
})

test('a count that comes back is kept for 35 days after its month, as any other', async () => {
  const { company_id, apps } = await companyWithApps()
  const december = Date.UTC(2026, 11, 5)
  await clickhouse.insertEvents([received(apps[0], december, '2026-12-05')], randomUUID())
  now_ms = december
  await reconcile()
  now_ms = Date.UTC(2027, 0, 1 + 35) - 1
  expect(await keyValue.get(quotaKey(company_id, december))).toBe(1)
  now_ms += 1
  expect(await keyValue.get(quotaKey(company_id, december))).toBeNull()
})
