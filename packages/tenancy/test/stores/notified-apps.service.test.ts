import { openPostgres } from '@tributary/postgres/postgres'
import { openPostgresProxy } from '@tributary/postgres/test/postgres-proxy'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { changeApp } from '../../src/companies/apps.ts'
import { createApp, createCompany, setCompanyStatus } from '../../src/companies/tenants.ts'
import { openMasterKeys } from '../../src/secrets/master-keys.ts'
import { openNotifiedApps } from '../../src/stores/notified-apps.ts'
import { listeners, until } from '../attribution/attribution-world.ts'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const request = { actor: 'test', request_id: 'r', now_ms: Date.now() }
const logger = pino({ level: 'silent' })

let db: TestPostgres
beforeAll(async () => {
  db = await openTestPostgres()
})
afterAll(() => db.close())

/** An app of a company of its own. */
async function newApp() {
  const { company_id } = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, request)
  const given = { company_id, name: 'Game', platform: 'android' as const, bundle_id: 'com.example.run' }
  return { company_id, ...(await createApp(db.pool, masterKeys, given, request)) }
}

/** A process over a line that the test can cut. */
async function startProcess() {
  const proxy = await openPostgresProxy(db.url)
  const pool = openPostgres({ url: proxy.url, pool_max: 3, statement_timeout_ms: 2_000, connect_timeout_ms: 2_000 })
  const before = new Set(await listeners(db))
  const registry = new Registry()
  const apps = await openNotifiedApps({ pool, now: Date.now, logger, registry })
  onTestFinished(async () => {
    await apps.close()
    proxy.repair()
    await pool.end()
    await proxy.close()
  })
  await until('it listens', async () => (await listeners(db)).some((pid) => !before.has(pid)))
  return { apps, proxy, registry }
}

test('an app is found by its app key, also that of a suspended company, with what its notifications must name', async () => {
  const { apps } = await startProcess()
  const { app_key, app_id, company_id } = await newApp()
  const nothing = { google_push_audience: null, google_push_email: null }
  const found = { app_id, company_id, platform: 'android', bundle_id: 'com.example.run', ...nothing }
  expect(await apps.find(app_key)).toEqual(found)
  await setCompanyStatus(db.pool, company_id, 'suspended', request)
  expect(await apps.find(app_key)).toEqual(found)
  expect(await apps.find(`app_live_${'f'.repeat(32)}`)).toBeNull()
})

test('a key of a wrong shape costs no query', async () => {
  const { apps, registry } = await startProcess()
  for (const key of ['', 'app_live_1', 'x'.repeat(10_000)]) expect(await apps.find(key)).toBeNull()
  expect((await registry.getSingleMetric('tributary_notified_apps_loads_total')?.get())?.values).toEqual([])
})

test('a changed setting holds at once, and an empty one is none', async () => {
  const { apps } = await startProcess()
  const { app_key, app_id } = await newApp()
  await apps.find(app_key)
  const push = { google_push_audience: 'https://a.example/', google_push_email: 'push@a.example' }
  await changeApp(db.pool, app_id, push, request)
  await until('it is known', async () => (await apps.find(app_key))?.google_push_email !== null)
  expect(await apps.find(app_key)).toMatchObject(push)
  await changeApp(db.pool, app_id, { google_push_email: '', bundle_id: '' }, request)
  await until('it is gone', async () => (await apps.find(app_key))?.google_push_email === null)
  expect(await apps.find(app_key)).toMatchObject({ bundle_id: null, google_push_audience: 'https://a.example/' })
})

test('with PostgreSQL away a known app is answered from memory, and another one with unavailable', async () => {
  const { apps, proxy } = await startProcess()
  const [known, other] = [await newApp(), await newApp()]
  await apps.find(known.app_key)
  proxy.cut()
  expect(await apps.find(known.app_key)).toMatchObject({ app_id: known.app_id })
  await expect(apps.find(other.app_key)).rejects.toMatchObject({ code: 'unavailable', status: 503 })
})
