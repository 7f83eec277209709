import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { CreateApp } from '@tributary/contracts/admin/apps'
import { openPostgres } from '@tributary/postgres/postgres'
import { openPostgresProxy } from '@tributary/postgres/test/postgres-proxy'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import { openAppsWithSecrets, openAttributionApps } from '../../src/attribution/attribution-apps-cache.ts'
import { openLinks } from '../../src/attribution/links-cache.ts'
import { createLink } from '../../src/companies/links.ts'
import { createApp, createCompany } from '../../src/companies/tenants.ts'
import { type MasterKeys, openMasterKeys } from '../../src/secrets/master-keys.ts'

export const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
export const request = { actor: 'test', request_id: 'r', now_ms: Date.now() }

/** A database, its tenants, and processes that look up links and apps in it. */
export async function openWorld() {
  const db = await openTestPostgres()
  const { pool } = db

  /** A company with an Android and an iOS app. */
  async function tenant() {
    const { company_id } = await createCompany(pool, { name: 'Acme', plan: 'free' }, request)
    const app = (input: Omit<CreateApp, 'company_id' | 'name'>) =>
      createApp(pool, masterKeys, { company_id, name: 'Game', ...input }, request)
    const android = await app({ platform: 'android', bundle_id: 'com.acme.game' })
    const ios = await app({ platform: 'ios', store_id: String(randomInt(1, 2 ** 47)), provider_token: 'pt1' })
    return { company_id, android: android.app_id, ios: ios.app_id }
  }

  const link = (app_id: string) => createLink(pool, { app_id, partner: 'acme', honeypot: false }, request)

  /** A process over a line that the test can cut, with a clock that it turns. */
  async function startProcess({ keys = masterKeys }: { keys?: MasterKeys } = {}) {
    const proxy = await openPostgresProxy(db.url)
    const own = openPostgres({ url: proxy.url, pool_max: 3, statement_timeout_ms: 2_000, connect_timeout_ms: 2_000 })
    const clock = { now_ms: Date.now() }
    const registry = new Registry()
    let logged = ''
    const write = (line: string) => {
      logged += line
    }
    const logger = pino({ level: 'trace' }, { write })
    const options = { pool: own, masterKeys: keys, now: () => clock.now_ms, logger, registry }
    const before = new Set(await listeners(db, 'attribution_changed'))
    const apps = await openAttributionApps(options)
    const appsWithSecrets = await openAppsWithSecrets(options)
    const links = await openLinks(options)
    onTestFinished(async () => {
      await Promise.all([apps.close(), appsWithSecrets.close(), links.close()])
      proxy.repair()
      await own.end()
      await proxy.close()
    })
    const others = async () => (await listeners(db, 'attribution_changed')).filter((pid) => !before.has(pid))
    await until('it listens', async () => (await others()).length >= 3)
    return { apps, appsWithSecrets, links, proxy, clock, registry, logged: () => logged }
  }

  return { pool, tenant, link, startProcess, close: () => db.close() }
}

/**
 * Process ids of the connections that listen to a channel; to any when it is left out. Those of a process that has ended
 * may be among them for a while, so compare ids and not their number.
 */
export async function listeners({ pool }: Pick<TestPostgres, 'pool'>, channel = ''): Promise<number[]> {
  const text = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle'
    AND application_name = 'tributary-listener' AND query LIKE 'LISTEN%' AND position($1 IN query) > 0`
  return (await pool.query<{ pid: number }>(text, [channel])).rows.map(({ pid }) => pid)
}

/** No limit of the product: a machine may stand still. The clock of the caches stands still meanwhile. */
const patience_ms = 180_000

export async function until(what: string, holds: () => Promise<boolean>) {
  const deadline = performance.now() + patience_ms
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`)
    await pause(10)
  }
}
