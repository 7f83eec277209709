import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { hour_ms, limits } from '@tributary/contracts/limits'
import { type LateDays, notingLateDays, openLateDays } from '@tributary/erasure/late-days'
import { applyServiceRoles } from '@tributary/postgres/apply-service-roles'
import { roleOf } from '@tributary/postgres/service-roles'
import { changeCompany, createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { Pool } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { runRetention } from '../src/run-retention.ts'
import { after, dayOf, first_ms, storeDays } from './stored-days.ts'

let postgres: TestPostgres
let clickhouse: TestClickhouse
const passwords = { 'ingest-gateway': randomBytes(24).toString('hex'), retention: randomBytes(24).toString('hex') }
beforeAll(async () => {
  ;[postgres, clickhouse] = await Promise.all([openTestPostgres(), openTestClickhouse()])
  await applyServiceRoles(postgres.pool, passwords)
})
afterAll(() => Promise.all([postgres.close(), clickhouse.close()]))

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const logger = pino({ level: 'silent' })

/** A pool with the rights of a service, and no others. */
function poolOf(service: keyof typeof passwords): Pool {
  const url = Object.assign(new URL(postgres.url), { username: roleOf(service), password: passwords[service] })
  const pool = new Pool({ connectionString: url.href, max: 2 })
  onTestFinished(() => pool.end())
  return pool
}

const withAddress = Buffer.from('{"ip":"203.0.113.1","body":{}}')

type Put = (key: string, content: Buffer) => Promise<'created' | 'exists'>

/** An app with its audit store, a gateway and retention; time passes for all of them. */
async function openApp(keep_ip_days: number) {
  const request = { actor: 'test', request_id: 'r', now_ms: first_ms }
  const { company_id } = await createCompany(postgres.pool, { name: 'A', plan: 'free' }, request)
  const input = { company_id, name: 'Game', platform: 'android' as const }
  const { app_id } = await createApp(postgres.pool, masterKeys, input, request)
  await changeCompany(postgres.pool, company_id, { keep_ip_days }, request)
  const audit = memoryAuditStore()
  const pool = poolOf('retention')
  let elapsed_ms = 0
  const of_gateway = poolOf('ingest-gateway')
  const late = openLateDays({ pool: of_gateway, elapsed: () => elapsed_ms, logger })
  /** Puts an object of each kind under a day as its writer does; `putOnce` is of the gateway. */
  async function put(day: number, putOnce: Put = notingLateDays(audit, late).putOnce) {
    const made = memoryAuditStore()
    await storeDays({ clickhouse, audit: made }, { company_id, app_id }, [day])
    for (const [key, content] of made.objects) {
      if (key.startsWith('clicks/')) await late.note([app_id], dayOf(day))
      if (key.startsWith('clicks/'))
        await audit.putOnce(`clicks/${key.slice(7, 18)}log/0/${audit.objects.size}-1.jsonl.gz`, content)
      else await putOnce(key, content)
    }
  }
  return {
    ...{ app_id, audit, late, put, of_gateway },
    wait(ms: number) {
      elapsed_ms += ms
    },
    /** A nightly run of a clock. `meanwhile` happens once it has begun, before it looks for late days. */
    async run(day: number, meanwhile: () => Promise<unknown> = async () => {}) {
      elapsed_ms += hour_ms
      const now = () => after(day) + 3 * hour_ms
      const deps = {
        pool,
        clickhouse,
        audit,
        now,
        broker: memoryBroker(1, now),
        wait_ms: 20,
        logger,
      }
      await runRetention({ ...deps, pause: async () => void (await meanwhile()) }, new AbortController().signal)
    },
    /** Objects with an address or an agent. */
    holding: () =>
      [...audit.objects].flatMap(([key, content]) =>
        /203\.0\.113|Agent\/7/.test((key.endsWith('.gz') ? gunzipSync(content) : content).toString()) ? [key] : [],
      ),
    noted: async () =>
      (await postgres.pool.query('SELECT day::text AS day FROM late_days WHERE app_id = $1 ORDER BY day', [app_id]))
        .rows,
  }
}

for (const [keep, behind] of [
  [3, 4],
  [3, 5],
  [30, 32],
] as const)
  test(`a gateway that is behind by ${behind} days has its addresses blanked by the next night, kept for ${keep}`, async () => {
    const app = await openApp(keep)
    await app.run(100)
    await app.put(100 - behind)
    expect(app.holding()).toHaveLength(4)
    await app.run(101)
    await app.run(102)
    expect(app.holding()).toEqual([])
    // Nothing is left to do once no such object can be under way.
    expect(await app.noted()).toEqual([{ day: dayOf(100 - behind) }])
    await postgres.pool.query(`UPDATE late_days SET noted_at = noted_at - interval '3 hours'`)
    await app.run(103)
    expect(await app.noted()).toEqual([])
  })

test('an object of a gateway that died behind its note is blanked when the request comes again, by whichever gateway', async () => {
  const app = await openApp(3)
  await app.run(100)
  await expect(
    app.put(
      95,
      notingLateDays<{ putOnce: Put }>({ putOnce: () => Promise.reject(new Error('killed')) }, app.late).putOnce,
    ),
  ).rejects.toThrow('killed')
  expect(await app.noted()).toEqual([{ day: dayOf(95) }])
  await app.put(95)
  await app.run(101)
  expect(app.holding()).toEqual([])
})

test('an object that is put while a run passes its day, or behind it, is blanked by the next one', async () => {
  const app = await openApp(3)
  await app.run(100)
  const [noted, passed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: LateDays = {
    async note(...asked) {
      await app.late.note(...asked)
      noted.resolve()
      await passed.promise
    },
  }
  const put = notingLateDays(app.audit, slow).putOnce(`${app.app_id}/s2s/${dayOf(95)}/slow.json`, withAddress)
  await noted.promise
  // Tries of a night follow each other within a minute.
  for (const _ of [1, 2, 3]) await app.run(101)
  passed.resolve()
  await put
  await app.put(97)
  await app.run(102)
  expect(app.holding()).toEqual([])
})

test('a gateway notes the day that a run is about to blank as soon as it has begun', async () => {
  const app = await openApp(3)
  await app.run(100)
  await app.put(99) // the gateway knows of the run of day 100
  await app.run(109, async () => {
    app.wait(limits.credentials_fresh_ms)
    await app.late.note([app.app_id], dayOf(104))
  })
  await app.audit.putOnce(`${app.app_id}/s2s/${dayOf(104)}/late.json`, withAddress)
  await app.run(110)
  expect(app.holding()).toEqual([])
})

test('what comes behind a mark that a clock ahead put on a day to come is blanked in its time, also when nights are missed', async () => {
  const app = await openApp(3)
  await app.run(106) // on day 102
  await app.put(102)
  for (const day of [104, 105]) {
    await app.run(day)
    expect(app.holding(), 'kept for three days').toHaveLength(4)
  }
  await app.run(106)
  expect(app.holding()).toEqual([])
})

test('a gateway knows marks that a run behind the clock of the last one has not set back yet', async () => {
  const app = await openApp(1)
  await app.run(100)
  await expect(app.run(90, () => Promise.reject(new Error('killed')))).rejects.toThrow('killed')
  await app.put(95)
  await app.run(101)
  expect(app.holding()).toEqual([])
})

test('an app that is gone stops no writer of objects', async () => {
  const app = await openApp(3)
  await app.run(100)
  await app.late.note(['app_gone'], dayOf(95))
  await postgres.pool.query(`UPDATE late_days SET noted_at = noted_at - interval '3 hours'`)
  await app.run(101)
  const { rows } = await postgres.pool.query(`SELECT app_id FROM late_days WHERE app_id = 'app_gone'`)
  expect(rows).toEqual([])
})

test('objects of today cost no note, also while PostgreSQL is away; a late one is refused then', async () => {
  const app = await openApp(30)
  await app.run(100)
  await app.put(100)
  await app.put(101)
  expect(await app.noted()).toEqual([])
  app.of_gateway.query = () => Promise.reject(new Error('away'))
  app.wait(limits.credentials_stale_ms_max - 1)
  await app.put(100)
  await expect(app.put(99)).rejects.toThrow('away')
})
