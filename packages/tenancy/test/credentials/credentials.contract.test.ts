import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { openPostgres } from '@tributary/postgres/postgres'
import { openPostgresProxy } from '@tributary/postgres/test/postgres-proxy'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { rotateSigningSecret } from '../../src/companies/apps.ts'
import {
  changeCompany,
  createApp,
  createCompany,
  createServerKey,
  revokeServerKey,
  setCompanyStatus,
} from '../../src/companies/tenants.ts'
import { openCredentials } from '../../src/credentials/credentials-cache.ts'
import { openMasterKeys } from '../../src/secrets/master-keys.ts'
import { until } from '../attribution/attribution-world.ts'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const request = { actor: 'test', request_id: 'r', now_ms: Date.now() }
const minutes = (n: number) => n * 60_000

let db: TestPostgres
beforeAll(async () => {
  db = await openTestPostgres()
})
afterAll(() => db.close())

async function tenant() {
  const company = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, request)
  const { company_id, company_key } = company
  const app = await createApp(db.pool, masterKeys, { company_id, name: 'Game', platform: 'ios' }, request)
  const input = { app_id: app.app_id, label: 'billing', allowed_events: ['purchase'] }
  const { key, key_id } = await createServerKey(db.pool, input, request)
  return { company_id, company_key, ...app, key, key_id }
}

/** Credentials over a line that the test can cut, with a clock that it turns. */
async function open({ keys = masterKeys } = {}) {
  const proxy = await openPostgresProxy(db.url)
  const pool = openPostgres({ url: proxy.url, pool_max: 3, statement_timeout_ms: 2_000, connect_timeout_ms: 2_000 })
  const clock = { now_ms: Date.now() }
  const registry = new Registry()
  let logged = ''
  const write = (line: string) => {
    logged += line
  }
  const logger = pino({ level: 'trace' }, { write })
  const credentials = await openCredentials({ pool, masterKeys: keys, now: () => clock.now_ms, logger, registry })
  onTestFinished(async () => {
    await credentials.close()
    proxy.repair()
    await pool.end()
    await proxy.close()
  })
  await until('it listens', async () => (await listeners()) > 0)
  return { credentials, proxy, clock, registry, logged: () => logged }
}

async function listeners(): Promise<number> {
  const text = `SELECT count(*)::int AS n FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'tributary-listener' AND query LIKE 'LISTEN%'`
  return (await db.pool.query(text)).rows[0].n
}

/** An answer, or `late` when a timer is faster: a machine that stands still delays both. */
const sooner = (answer: Promise<unknown>, than_ms: number) => Promise.race([answer, pause(than_ms, 'late')])

/** Waits until late notices have gone by: a kept answer is the same promise again. */
function untilKept(find: () => Promise<unknown>) {
  return until('the answer is kept', async () => {
    const answer = find()
    await answer
    await db.pool.query('SELECT 1')
    return find() === answer
  })
}

test('each credential is found by its key', async () => {
  const { credentials } = await open()
  const { company_id, company_key, app_id, app_key, signing_secret, key, key_id } = await tenant()
  expect(await credentials.findApp(app_key)).toEqual({
    app_id,
    company_id,
    platform: 'ios',
    signing_secret,
    old_secrets: [],
  })
  expect(await credentials.findCompany(company_key)).toEqual({ company_id, status: 'active', monthly_quota: 1_000_000 })
  expect(await credentials.findServerKey(key)).toEqual({
    ...{ key_id, app_id, company_id, platform: 'ios' },
    ...{ allowed_events: ['purchase'], scopes: ['events:write', 'reports:read'] },
    ...{ company_status: 'active', monthly_quota: 1_000_000 },
  })
})

test('a key that nobody has is null; one of a wrong shape costs no query, so it is null without PostgreSQL too', async () => {
  const { credentials, proxy } = await open()
  const { key } = await tenant()
  expect(await credentials.findServerKey(`srv_${randomBytes(24).toString('hex')}`)).toBeNull()
  proxy.cut()
  for (const wrong of [
    '',
    'srv_',
    key.toUpperCase(),
    `${key}0`,
    `${key}\n`,
    `${key.slice(0, -1)}\u0000`,
    "' OR 1=1 --",
  ]) {
    expect(await credentials.findServerKey(wrong)).toBeNull()
    expect(await credentials.findApp(wrong)).toBeNull()
    expect(await credentials.findCompany(wrong)).toBeNull()
  }
})

test('a revoked key is refused at once', async () => {
  const { credentials } = await open()
  const { key, key_id } = await tenant()
  expect(await credentials.findServerKey(key)).not.toBeNull()
  await revokeServerKey(db.pool, key_id, request)
  await until('the key is refused', async () => (await credentials.findServerKey(key)) === null)
})

test('a change of the scopes of a key is seen at once', async () => {
  const { credentials } = await open()
  const { key, key_id } = await tenant()
  await untilKept(() => credentials.findServerKey(key))
  await db.pool.query("UPDATE server_keys SET scopes = ARRAY['reports:read'] WHERE key_id = $1", [key_id])
  const scopes = async () => (await credentials.findServerKey(key))?.scopes.join()
  await until('the key may only read', async () => (await scopes()) === 'reports:read')
})

test('a change of the quota is seen at once, by the company key and by server keys', async () => {
  const { credentials } = await open()
  const { company_id, company_key, key } = await tenant()
  await Promise.all([credentials.findCompany(company_key), credentials.findServerKey(key)])
  await changeCompany(db.pool, company_id, { monthly_quota: 7 }, request)
  const seen = async () =>
    (await credentials.findCompany(company_key))?.monthly_quota === 7 &&
    (await credentials.findServerKey(key))?.monthly_quota === 7
  await until('the quota is 7', seen)
})

test('a rotated secret is seen at once, with the old ones and their ends', async () => {
  const { credentials } = await open()
  const { app_id, app_key, signing_secret } = await tenant()
  await untilKept(() => credentials.findApp(app_key))
  const second = await rotateSigningSecret(db.pool, masterKeys, app_id, 24, request)
  const third = await rotateSigningSecret(db.pool, masterKeys, app_id, 1, request)
  const current = async () => (await credentials.findApp(app_key))?.signing_secret
  await until('the newest is known', async () => (await current()) === third.signing_secret)
  const { old_secrets = [] } = (await credentials.findApp(app_key)) ?? {}
  const ends = new Map(old_secrets.map((old) => [old.signing_secret, old.ends_at_ms - request.now_ms]))
  expect(ends).toEqual(
    new Map([
      [signing_secret, 24 * minutes(60)],
      [second.signing_secret, minutes(60)],
    ]),
  )
})

test('an old secret of a lost master key is left out, and the new one works', async () => {
  const { app_id, app_key } = await tenant()
  const newKeys = openMasterKeys([{ id: 'new', key: Buffer.alloc(32, 3) }])
  const { signing_secret } = await rotateSigningSecret(db.pool, newKeys, app_id, 24, request)
  const { credentials } = await open({ keys: newKeys })
  expect(await credentials.findApp(app_key)).toMatchObject({ signing_secret, old_secrets: [] })
})

test('a suspended company is known as such at once, by its own key and by its server keys', async () => {
  const { credentials } = await open()
  const { company_id, company_key, key } = await tenant()
  for (const status of ['suspended', 'active'] as const) {
    await Promise.all([credentials.findCompany(company_key), credentials.findServerKey(key)])
    await setCompanyStatus(db.pool, company_id, status, request)
    const seen = async () =>
      (await credentials.findCompany(company_key))?.status === status &&
      (await credentials.findServerKey(key))?.company_status === status
    await until(`the company is ${status}`, seen)
  }
})

test('whoever asks all the time sees each change at once, however the two meet', async () => {
  const { credentials } = await open()
  const { company_id, company_key } = await tenant()
  let asking = true
  const askers = [1, 2, 3].map(async () => {
    while (asking) {
      await credentials.findCompany(company_key)
      await new Promise(setImmediate)
    }
  })
  for (let round = 0; round < 40; round += 1) {
    const status = round % 2 === 0 ? 'suspended' : 'active'
    await setCompanyStatus(db.pool, company_id, status, request)
    await until(status, async () => (await credentials.findCompany(company_key))?.status === status)
  }
  asking = false
  await Promise.all(askers)
})

test('a change that nobody told of is seen after ten seconds', async () => {
  const { credentials, clock } = await open()
  const { company_id, company_key } = await tenant()
  await db.pool.query('ALTER TABLE companies DISABLE TRIGGER companies_changed')
  onTestFinished(() => void db.pool.query('ALTER TABLE companies ENABLE TRIGGER companies_changed'))
  const quotaSeen = async () => (await credentials.findCompany(company_key))?.monthly_quota
  let quota = 0
  // Notices of tenant() may still come in for a moment: change it silently until one change stays unseen.
  await until('a change stays unseen', async () => {
    await quotaSeen()
    quota += 1
    await db.pool.query('UPDATE companies SET monthly_quota = $2 WHERE company_id = $1', [company_id, quota])
    return (await quotaSeen()) !== quota
  })
  clock.now_ms += 10_000
  expect(await quotaSeen()).toBe(quota)
})

test('a change made while the listening connection was broken is seen once it is back', async () => {
  const { company_id, company_key } = await tenant()
  const { credentials, proxy } = await open()
  await untilKept(() => credentials.findCompany(company_key))
  proxy.cut()
  await until('nobody listens', async () => (await listeners()) === 0)
  await setCompanyStatus(db.pool, company_id, 'suspended', request)
  proxy.repair()
  await until('suspended', async () => (await credentials.findCompany(company_key))?.status === 'suspended')
})

test('with PostgreSQL away known keys go on for ten minutes, unknown ones are told to come again', async () => {
  const { credentials, proxy, clock } = await open()
  const { app_key, key } = await tenant()
  const other = await tenant()
  await Promise.all([credentials.findApp(app_key), credentials.findServerKey(key)])
  proxy.cut()
  const unavailable = { code: 'unavailable', status: 503, headers: { 'retry-after': '1' } }
  for (const later of [0, 10_000, minutes(5), minutes(4)]) {
    clock.now_ms += later
    expect(await credentials.findApp(app_key)).toMatchObject({ platform: 'ios' })
    expect(await credentials.findServerKey(key)).toMatchObject({ platform: 'ios' })
    await expect(credentials.findServerKey(other.key)).rejects.toMatchObject(unavailable)
  }
  clock.now_ms += minutes(1)
  await expect(credentials.findApp(app_key)).rejects.toMatchObject(unavailable)
  await expect(credentials.findServerKey(key)).rejects.toMatchObject(unavailable)

  proxy.repair()
  clock.now_ms += 1_000
  const back = async () => {
    clock.now_ms += 1_000
    return (await credentials.findServerKey(other.key).catch(() => null)) !== null
  }
  await until('PostgreSQL is asked again', back)
})

test('with PostgreSQL silent a known key waits about a second once, then not at all', async () => {
  const { app_key } = await tenant()
  const { credentials, proxy, clock } = await open()
  await untilKept(() => credentials.findApp(app_key))
  proxy.silence()
  clock.now_ms += 10_000
  expect(await sooner(credentials.findApp(app_key), 1_900)).toMatchObject({ platform: 'ios' })
  for (const later of [0, 1_000, 10_000]) {
    clock.now_ms += later
    expect(await sooner(credentials.findApp(app_key), 500)).toMatchObject({ platform: 'ios' })
  }
})

test('a flood of made-up keys costs few queries, and known keys stay known', async () => {
  const { credentials, registry } = await open()
  const { key } = await tenant()
  await credentials.findServerKey(key)
  const flood = Array.from({ length: 10_000 }, () => `srv_${randomBytes(24).toString('hex')}`)
  const answers = await Promise.all(flood.map((made) => credentials.findServerKey(made)))
  expect(answers.every((answer) => answer === null)).toBe(true)
  const metric = await registry.getSingleMetric('tributary_credentials_loads_total')!.get()
  expect(metric.values.find(({ labels }) => labels.result === 'query')!.value).toBeLessThan(50)
  expect(await credentials.findServerKey(key)).not.toBeNull()
})

test('a secret of a missing master key is answered "unavailable" and logged without any secret; others work', async () => {
  const { app_key, signing_secret, key } = await tenant()
  const { credentials, logged } = await open({ keys: openMasterKeys([{ id: 'other', key: Buffer.alloc(32, 2) }]) })
  await expect(credentials.findApp(app_key)).rejects.toMatchObject({ code: 'unavailable' })
  expect(await credentials.findServerKey(key)).not.toBeNull()
  expect(logged()).toContain('needs master key test')
  expect(logged()).not.toContain(signing_secret)
  expect(logged()).not.toContain(app_key)
})
