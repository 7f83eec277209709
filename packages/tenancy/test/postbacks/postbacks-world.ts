import { randomInt } from 'node:crypto'
import { openPostgres } from '@tributary/postgres/postgres'
import { openPostgresProxy } from '@tributary/postgres/test/postgres-proxy'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import { createApp, createCompany } from '../../src/companies/tenants.ts'
import { openCvSchemas, openLiveSchemas } from '../../src/postbacks/cv-schemas-cache.ts'
import { openStoreApps } from '../../src/postbacks/store-apps-cache.ts'
import { openMasterKeys } from '../../src/secrets/master-keys.ts'
import { listeners, until } from '../attribution/attribution-world.ts'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
export const request = { actor: 'test', request_id: 'r', now_ms: Date.now() }

export const newStoreId = () => String(randomInt(2 ** 32, 2 ** 47))

/** A schema that tells one from another by the name of its only value. */
export const postbacksOf = (name: string) => [
  {
    ...{ postback_sequence_index: 0 as const, window_hours: 48 as const, lock_window: false },
    ...{ fine: [{ value: 0, name }], coarse: [] },
  },
]

/** A database, and processes that look up schemas and store ids in it. */
export async function openWorld() {
  const db = await openTestPostgres()
  const { pool } = db

  /** An app of a company of its own. */
  async function app(store_id?: string, platform: 'ios' | 'android' = 'ios') {
    const { company_id } = await createCompany(pool, { name: 'Acme', plan: 'free' }, request)
    const given = { company_id, name: 'Game', platform, ...(store_id === undefined ? {} : { store_id }) }
    const { app_id } = await createApp(pool, masterKeys, given, request)
    return { company_id, app_id }
  }

  /** A process over a line that the test can cut, with a clock that it turns. */
  async function startProcess() {
    const proxy = await openPostgresProxy(db.url)
    const own = openPostgres({ url: proxy.url, pool_max: 3, statement_timeout_ms: 2_000, connect_timeout_ms: 2_000 })
    const clock = { now_ms: Date.now() }
    const registry = new Registry()
    const options = { pool: own, now: () => clock.now_ms, logger: pino({ level: 'silent' }), registry }
    const before = new Set(await listeners(db))
    const schemas = await openCvSchemas(options)
    const live = await openLiveSchemas(options)
    const stores = await openStoreApps(options)
    onTestFinished(async () => {
      await Promise.all([schemas.close(), live.close(), stores.close()])
      proxy.repair()
      await own.end()
      await proxy.close()
    })
    await until('it listens', async () => (await listeners(db)).filter((pid) => !before.has(pid)).length >= 3)
    const queries = async () => {
      const { values } = await registry.getSingleMetric('tributary_live_schemas_loads_total')!.get()
      return values.find(({ labels }) => labels.result === 'query')?.value ?? 0
    }
    return { schemas, live, stores, proxy, clock, queries }
  }

  return { pool, app, startProcess, close: () => db.close() }
}
