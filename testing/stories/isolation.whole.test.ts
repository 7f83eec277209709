import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { adminApi } from '@tributary/admin-api/app'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { topics } from '@tributary/contracts/topics'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { transactionSweep } from '@tributary/event-writer/money/sweep-transactions'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import { reportApi } from '@tributary/report-api/app'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { openCosts } from '@tributary/tables/costs/store-costs'
import {
  createApp,
  createCompany,
  createServerKey,
  revokeServerKey,
  setCompanyStatus,
} from '@tributary/tenancy/companies/tenants'
import { openCredentials } from '@tributary/tenancy/credentials/credentials-cache'
import { openFxRates } from '@tributary/tenancy/fx-rates'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { noSchemas, sign } from '@tributary/testing/builders'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noGeo } from '@tributary/testing/twins/no-geo'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AppTwin,
  companies,
  day_ms,
  installOf,
  reportOf,
  revenue,
  type SentEvent,
  type Step,
  step,
  takeEvents,
} from './isolation-twin.ts'

const logger = pino({ level: 'silent' })
const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 7) }])
const admin_token = 'a-token-of-this-test-and-no-other'
const partitions = 2

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

interface Tenant extends AppTwin {
  company_key: string
  app_key: string
  signing_secret: string
  /** The second is never revoked. */
  keys: { key: string; key_id: string; revoked: boolean }[]
}

/** Everything in one process on the real databases, with a clock that a test moves. */
async function openWorld(apps_of: readonly number[]) {
  // Late on the day, so that no time is in the future; the clock only moves on, so no two requests are received at once.
  let now_ms = day_ms + 12 * 3600 * 1000
  const now = () => now_ms
  const { pool } = postgres
  const registry = new Registry()
  const audit = memoryAuditStore()
  const broker = memoryBroker(partitions, now)
  const keyValue = memoryKeyValue(now)
  const credentials = await openCredentials({ pool, masterKeys, now, logger })
  const groupCommit = createGroupCommit({ store: audit, now, linger_ms: 0, bytes_max: 1e6, gateway: 'test' })
  const consumer = await runConsumer({
    broker,
    consumer: eventWriter({ clickhouse }),

    logger,
    registry,
    now,
  })
  const app = createHttpApp({ logger })
  const shared = { credentials, liveSchemas: noSchemas, keyValue, now, registry, logger }
  const status = async () => ({ ready: true, consumers: [], bindings: {} })
  const costs = openCosts({ clickhouse, pool })
  await app.register(
    ingestGateway({ ...shared, costs, geo: noGeo, audit, groupCommit, broker, partitions, gateway_id: 'test' }),
  )
  await app.register(reportApi({ ...shared, ...noPostbacks(), clickhouse, fxRates: openFxRates({ pool, now }) }))
  await app.register(
    adminApi({
      ...{ pool, masterKeys, admin_token, audit, broker, clickhouse, costs, keyValue, status, now, logger, registry },
      sessions: { find: async () => null },
    }),
  )
  return {
    ...{ audit, broker, pool, tenants: await makeTenants(apps_of) },
    async ask(method: 'GET' | 'POST', url: string, headers: Record<string, string>, payload?: string) {
      now_ms += 1
      const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
      const body = answer.json()
      return { status: answer.statusCode, error: body.error as string | undefined, body }
    },
    /** Credentials are asked for anew after this, and none are too old to be believed. */
    passMinutes: () => {
      now_ms += 15 * 60_000
    },
    async untilWritten() {
      const { name } = topics.eventsAccepted
      const isBehind = (partition: number) => {
        const committed = broker.committed('event-writer', name, partition)
        return (
          broker.records(name, partition).length !== (committed?.offset ?? 0) ||
          (committed?.metadata ?? '').includes('"to":')
        )
      }
      for (const deadline = Date.now() + 180_000; isBehind(0) || isBehind(1); await pause(2)) {
        if (Date.now() > deadline) throw new Error('not written in time')
      }
      await transactionSweep(clickhouse)()
    },
    async close() {
      await consumer.close()
      await app.close()
      await groupCommit.close()
      await credentials.close()
    },
  }
}
type World = Awaited<ReturnType<typeof openWorld>>

const request = { actor: 'test', request_id: 'r', now_ms: day_ms }

async function makeTenants(apps_of: readonly number[]): Promise<Tenant[]> {
  const tenants: Tenant[] = []
  for (const apps of apps_of) {
    const { company_id, company_key } = await createCompany(postgres.pool, { name: 'C', plan: 'unlimited' }, request)
    for (let n = 0; n < apps; n += 1) {
      const platform = tenants.length % 2 === 0 ? 'android' : 'ios'
      const made = await createApp(postgres.pool, masterKeys, { company_id, name: 'A', platform }, request)
      const key = async () => {
        const input = { app_id: made.app_id, label: 'k', allowed_events: [] }
        return { ...(await createServerKey(postgres.pool, input, request)), revoked: false }
      }
      tenants.push({
        ...made,
        company_id,
        company_key,
        keys: [await key(), await key()],
        counted: [],
        quota: 0,
        erasures: [],
      })
    }
  }
  return tenants
}

/** Events as they go over the wire; `mark` says whose they may become. */
const wire = (install_uuid: string, events: readonly SentEvent[], mark: string) =>
  events.map(({ money, ...event }) => ({
    ...event,
    install_uuid,
    ...(money === null ? {} : { revenue, currency: 'USD', transaction_id: money }),
    props: { mark },
  }))

/** One step of a run: what the service answers is what the twin says, and the twin takes what was accepted. */
async function take(world: World, suspended: Set<string>, given: Step): Promise<void> {
  const { tenants, ask, pool } = world
  const nth = (n: number) => tenants[n % tenants.length]!
  const keyed = (n: number) => ({ tenant: nth(n), key: nth(n).keys[n < 8 ? 0 : 1]! })
  const refusedKey = (tenant: Tenant, key: Tenant['keys'][number], unknown: string) =>
    key.revoked ? unknown : suspended.has(tenant.company_id) ? 'company_suspended' : undefined
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

  const signed = (
    { company_of, app, secret_of }: { company_of: number; app: number; secret_of: number },
    path: string,
    bodyOf: (mark: string) => unknown,
  ) => {
    const refused = suspended.has(nth(company_of).company_id)
      ? 'company_suspended'
      : nth(company_of).company_id !== nth(app).company_id
        ? 'app_company_mismatch'
        : nth(secret_of) !== nth(app)
          ? 'bad_signature'
          : undefined
    const body = JSON.stringify(bodyOf(refused === undefined ? nth(app).app_id : 'nobody'))
    const headers = {
      'x-service-company-key': nth(company_of).company_key,
      'x-service-app-key': nth(app).app_key,
      'x-service-signature': sign(nth(secret_of).signing_secret, body),
    }
    return { refused, tenant: nth(app), answer: ask('POST', path, headers, body) }
  }

  switch (given.kind) {
    case 'sdk': {
      const { refused, tenant, answer } = signed(given.credentials, '/event', (mark) => ({
        events: wire(given.install, given.events, mark),
      }))
      expect((await answer).error).toBe(refused)
      if (refused === undefined) takeEvents(tenant, given.install, given.events)
      break
    }
    case 'privacy': {
      const { refused, tenant, answer } = signed(given.credentials, '/privacy/delete', () => ({
        install_uuid: given.install,
      }))
      expect((await answer).error).toBe(refused)
      const isNew = !tenant.erasures.includes(given.install)
      if (refused === undefined && isNew) tenant.erasures.push(given.install)
      break
    }
    case 's2s':
    case 'bulk': {
      const { tenant, key } = keyed(given.key)
      const refused = refusedKey(tenant, key, 'unknown_or_revoked_key')
      const events = wire(given.install, given.events, refused === undefined ? tenant.app_id : 'nobody')
      const [path, body] = given.kind === 's2s' ? ['/s2s/event', events[0]] : ['/s2s/events/bulk', { events }]
      expect((await ask('POST', path as string, bearer(key.key), JSON.stringify(body))).error).toBe(refused)
      if (refused === undefined) takeEvents(tenant, given.install, given.events)
      break
    }
    case 'report': {
      const { tenant, key } = keyed(given.key)
      const answer = await ask('GET', '/api/v1/reports/events', bearer(key.key))
      expect(answer.error).toBe(refusedKey(tenant, key, 'invalid_or_revoked_key'))
      expect((await ask('GET', '/admin/api/v1/companies', bearer(key.key))).error).toBe('invalid_admin_token')
      expect((await ask('GET', '/api/v1/reports/events', bearer(admin_token))).error).toBe('invalid_or_revoked_key')
      break
    }
    case 'revoke': {
      const key = nth(given.key).keys[0]!
      await revokeServerKey(pool, key.key_id, request)
      key.revoked = true
      world.passMinutes()
      break
    }
    default: {
      const { company_id } = nth(given.company)
      const suspend = given.kind === 'suspend'
      await setCompanyStatus(pool, company_id, suspend ? 'suspended' : 'active', request)
      if (suspend) suspended.add(company_id)
      else suspended.delete(company_id)
      world.passMinutes()
    }
  }
}

/** Reads everything with every key, and looks into every store. */
async function compare(world: World): Promise<void> {
  const { tenants, ask, audit, broker } = world
  const own = new Set(tenants.map(({ app_id }) => app_id))
  const window = `since_ms=${day_ms}&until_ms=${day_ms + 24 * 3600 * 1000}`
  for (const tenant of tenants) {
    for (const { key, revoked } of tenant.keys) {
      const headers = { authorization: `Bearer ${key}` }
      // A client cannot name an app beside its key.
      const named = await ask('GET', `/api/v1/reports/events?${window}&app_id=${tenants[0]!.app_id}`, headers)
      expect(named.error).toBe(revoked ? 'invalid_or_revoked_key' : 'unknown_parameter')
      const report = await ask('GET', `/api/v1/reports/events?${window}`, headers)
      expect(revoked ? report.error : report.body.rows).toEqual(revoked ? 'invalid_or_revoked_key' : reportOf(tenant))
      for (const install of ['i-1', 'i-2']) {
        const { body, error } = await ask('GET', `/api/v1/installs/${install}`, headers)
        const known = installOf(tenant, install)
        if (revoked || known === null) expect(error).toBe(revoked ? 'invalid_or_revoked_key' : 'unknown_install')
        else expect(body).toMatchObject(known)
      }
    }
    const of_company = tenants.filter(({ company_id }) => company_id === tenant.company_id)
    const usage = await ask('GET', `/admin/api/v1/companies/${tenant.company_id}/usage`, {
      authorization: `Bearer ${admin_token}`,
    })
    expect(usage.body.used).toBe(of_company.reduce((sum, { quota }) => sum + quota, 0))
  }
  const rows = await clickhouse.query<{ app_id: string; company_id: string; mark: string }>(
    `SELECT app_id, company_id, JSONExtractString(props, 'mark') AS mark FROM events_raw_v1`,
  )
  const companyOf = new Map(tenants.map(({ app_id, company_id }) => [app_id, company_id]))
  for (const { app_id, company_id, mark } of rows.filter((row) => own.has(row.app_id))) {
    expect({ mark, company_id }).toEqual({ mark: app_id, company_id: companyOf.get(app_id) })
  }
  expect(rows.filter(({ mark }) => mark === 'nobody')).toEqual([])
  for (const [key, content] of audit.objects) {
    const owner = [...own].find((app_id) => key.includes(`${app_id}/`))
    const text = key.endsWith('.gz') ? gunzipSync(content).toString() : content.toString()
    for (const [, mark] of text.matchAll(/"mark":"(\w+)"/g)) expect(`${key}: ${mark}`).toBe(`${key}: ${owner}`)
  }
  const { name } = topics.erasuresRequested
  const erasures = Array.from({ length: partitions }, (_, n) => broker.records(name, n))
    .flat()
    .map(({ value }) => JSON.parse(value.toString()))
  for (const { app_id, company_id, erasures: asked } of tenants) {
    const found = erasures.filter((record) => record.app_id === app_id)
    expect(found.map(({ install_uuid }) => install_uuid).sort()).toEqual(asked.toSorted())
    expect(found.every((record) => record.company_id === company_id)).toBe(true)
  }
}

test('whoever sends what with whose credentials: each app shows its own, counted one by one, and nothing of another', async () => {
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(companies, fc.array(step, { minLength: 5, maxLength: 30 }), async (apps_of, steps) => {
      const world = await openWorld(apps_of)
      try {
        const suspended = new Set<string>()
        for (const given of steps) await take(world, suspended, given)
        for (const company_id of suspended) await setCompanyStatus(world.pool, company_id, 'active', request)
        world.passMinutes()
        await world.untilWritten()
        await compare(world)
        accepted += world.tenants.filter(({ counted }) => counted.length > 0).length
      } finally {
        await world.close()
      }
    }),
    // A failure is reported while there is time for it. A slow machine takes a minute for all runs.
    { numRuns: 10, interruptAfterTimeLimit: 200_000 },
  )
  // It was about something: most apps had events.
  expect(accepted).toBeGreaterThan(10)
})
