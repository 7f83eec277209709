import { randomInt } from 'node:crypto'
import { addDue, type DueReceipt } from '@tributary/tables/receipts/due-receipts'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { AppWithStores } from '../../src/judge/app-stores.ts'
import { type JudgeDeps, judgeDue } from '../../src/judge/judge-due.ts'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await openTestPostgres()
})
afterAll(() => postgres.close())

const patient = { timeout: 60_000, interval: 5 }

/** Apps in the order in which they are looked for. */
async function makeApps(count: number): Promise<string[]> {
  const request = { actor: 'test', request_id: 'r', now_ms: 0 }
  const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
  const { company_id } = await createCompany(postgres.pool, { name: 'A', plan: 'unlimited' }, request)
  const apps: string[] = []
  for (let n = 0; n < count; n += 1) {
    const app = { company_id, name: `G${n}`, platform: 'ios' as const }
    apps.push((await createApp(postgres.pool, masterKeys, app, request)).app_id)
  }
  return apps.toSorted()
}

const dueOf = (app_id: string): DueReceipt => ({
  ...{ app_id, install_uuid: 'i-1', day: '2026-06-02', event_key: '1', topic: 'events@log', partition: 0 },
  ...{ offset: randomInt(2 ** 47), event_name: 'purchase', product_id: null, transaction_id: null },
  ...{ receipt: 'none', asks: null, dated_at_ms: 0 },
})

/**
 * The work of a process until what is given back is called, on tables that hold no event: all were erased meanwhile. `onBegin` is called
 * before the receipts of an app are taken.
 */
function start(onBegin: (app_id: string) => void) {
  const app: AppWithStores = {
    ...{ company_id: 'co_1', platform: 'ios', bundle_id: 'com.example.run', resting: new Map() },
    stores: {
      ...{ verify: async () => 'malformed', readAppReceipt: () => 'malformed', appStore: null, googlePlay: null },
    },
  }
  const deps: JudgeDeps = {
    broker: memoryBroker(1, () => 0),
    clickhouse: { query: async () => [], command: async () => {} },
    stores: {
      async of(app_id) {
        onBegin(app_id)
        return app
      },
      resting: () => new Map(),
    },
    fxRates: { find: async () => () => null },
    ...{ postgres: postgres.pool, partitions: 1, now: () => 0 },
  }
  const stop = new AbortController()
  const work = judgeDue(deps, stop.signal)
  return async () => {
    stop.abort()
    await work
  }
}
const waiting = async (app_id: string) =>
  (await postgres.pool.query('SELECT FROM due_receipts WHERE app_id = $1', [app_id])).rowCount

test('an app whose work fails delays no other, and is tried again', async () => {
  const [broken, ...others] = await makeApps(3)
  await addDue(postgres.pool, [broken!, ...others].map(dueOf))
  let fails = true
  const stop = start((app_id) => {
    if (app_id === broken && fails) throw new Error('unreadable')
  })
  await vi.waitFor(async () => expect(await Promise.all(others.map(waiting))).toEqual([0, 0]), patient)
  expect(await waiting(broken!)).toBe(1)
  fails = false
  await vi.waitFor(async () => expect(await waiting(broken!)).toBe(0), patient)
  await stop()
})

test('an app that waits is begun before another is begun again', async () => {
  const apps = await makeApps(10)
  const last = apps.at(-1)!
  const backlog = apps.slice(0, -1).flatMap((app_id) => Array.from({ length: 201 }, () => dueOf(app_id)))
  await addDue(postgres.pool, [...backlog, dueOf(last)])
  const begun: string[] = []
  const stop = start((app_id) => void begun.push(app_id))
  await vi.waitFor(() => expect(begun).toContain(last), patient)
  await stop()
  expect(new Set(begun.slice(0, 10))).toEqual(new Set(apps))
})
