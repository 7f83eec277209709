import { randomUUID } from 'node:crypto'
import type { ReportMeta, ReportRow } from '@tributary/contracts/reports'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import { reportApi } from '@tributary/report-api/app'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { openCosts } from '@tributary/tables/costs/store-costs'
import { buildTenant, memoryCredentials, noSchemas } from '@tributary/testing/builders'
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

const day_ms = 24 * 3600 * 1000
const now_ms = Date.UTC(2026, 5, 20, 12)
let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

/** The door and the reports of one new app, over real tables. EUR has a rate, GBP one from 3 June on, CHF none. */
async function openStage() {
  const tenant = buildTenant()
  const logger = pino({ level: 'silent' })
  const now = () => now_ms
  const shared = { ...{ keyValue: memoryKeyValue(now), registry: new Registry(), logger, now } }
  const credentials = memoryCredentials([tenant])
  const app = createHttpApp({ logger })
  await app.register(
    ingestGateway({
      ...{ ...shared, credentials, liveSchemas: noSchemas, audit: memoryAuditStore() },
      ...{ broker: memoryBroker(1, now), partitions: 1, gateway_id: 'test' },
      groupCommit: { append: () => ({ audit_key: '', durable: Promise.resolve() }) },
      costs: openCosts({ clickhouse, pool: postgres.pool }),
      geo: noGeo,
    }),
  )
  const find = async () => rateOf
  await app.register(reportApi({ ...shared, ...noPostbacks(), credentials, clickhouse, fxRates: { find } }))
  const headers = { authorization: `Bearer ${tenant.server_key}` }
  return {
    app_id: tenant.app.app_id,
    close: () => app.close(),
    async put(costs: object[], as_of_ms?: number) {
      const answer = await app.inject({ method: 'PUT', url: '/api/v1/costs', headers, payload: { costs, as_of_ms } })
      expect([answer.statusCode, answer.json().rejected], answer.body).toEqual([200, 0])
    },
    async ask(query: object = {}) {
      const window = { since_ms: Date.UTC(2026, 5, 1), until_ms: Date.UTC(2026, 6, 1), limit: 1000 }
      const pairs = Object.entries({ ...window, ...query }).flatMap(([name, value]) =>
        [value].flat().map((one): [string, string] => [name, String(one)]),
      )
      const answer = await app.inject({ url: `/api/v1/reports/costs?${new URLSearchParams(pairs)}`, headers })
      expect(answer.statusCode, answer.body).toBe(200)
      return { answer, ...answer.json<{ rows: ReportRow<'costs'>[]; meta: ReportMeta }>() }
    },
    csv: (query: string) => app.inject({ url: `/api/v1/reports/costs?format=csv&${query}`, headers }),
  }
}

const rateOf = ({ day, currency }: { day: string; currency: string }) => {
  if (currency === 'EUR') return { usd: '1.1', units: '1' }
  return currency === 'GBP' && day >= '2026-06-03' ? { usd: '1.1', units: '0.3' } : null
}
const cost = (change: object = {}) => ({ day: '2026-06-01', partner: 'acme', cost: 1, currency: 'USD', ...change })
const valuesOf = (rows: object[]) => rows.map((row) => Object.values(row))

test('the report of costs equals a table worked out by hand', async () => {
  const stage = await openStage()
  await stage.put([
    cost({ day: '2026-06-02', campaign: '=spring', cost: 10, currency: 'EUR', clicks: 3 }),
    cost({ day: '2026-06-02', campaign: '=spring', country: 'DE', cost: 2.000001 }),
    cost({ day: '2026-06-02', partner: 'b', cost: 1, currency: 'GBP' }), // no rate yet
    cost({ day: '2026-06-03', partner: 'b', cost: 1, currency: 'GBP', impressions: 0 }), // 3.66666...
    cost({ day: '2026-06-04', partner: 'b', cost: 5, currency: 'CHF', clicks: 1 }), // never a rate
    cost({ day: '2026-06-07', partner: 'b', cost: 0 }), // none
    cost({ day: '2026-06-08', partner: 'b', ad_group: 'x', cost: 4 }),
  ])
  const { rows, meta } = await stage.ask()
  const at = now_ms
  //                day           partner campaign  group country cost currency usd   clicks impressions
  const expected = [
    ['2026-06-02', 'acme', '=spring', '', '', 10, 'EUR', 11, 3, null, at],
    ['2026-06-02', 'acme', '=spring', '', 'DE', 2.000001, 'USD', 2, null, null, at],
    ['2026-06-02', 'b', '', '', '', 1, 'GBP', 0, null, null, at],
    ['2026-06-03', 'b', '', '', '', 1, 'GBP', 3.6667, null, 0, at],
    ['2026-06-04', 'b', '', '', '', 5, 'CHF', 0, 1, null, at],
    ['2026-06-08', 'b', '', 'x', '', 4, 'USD', 4, null, null, at],
  ]
  expect(valuesOf(rows)).toEqual(expected)
  expect(meta).toMatchObject({ rows: 6, more: false, missing_rates: ['CHF', 'GBP'] })
  const page = await stage.ask({ limit: 2, offset: 1 })
  expect([valuesOf(page.rows), page.meta.rows, page.meta.more]).toEqual([expected.slice(1, 3), 6, true])
  expect((await stage.ask({ offset: 9 })).meta.rows).toBe(6)
  const weeks = await stage.ask({ group: 'week', partner: ['B'] })
  expect([valuesOf(weeks.rows), weeks.meta.rows]).toEqual([
    [
      ['2026-06-01', 'b', '', '', '', 5, 'CHF', 0, 1, null, at],
      ['2026-06-01', 'b', '', '', '', 2, 'GBP', 3.6667, null, 0, at],
      ['2026-06-08', 'b', '', 'x', '', 4, 'USD', 4, null, null, at],
    ],
    3,
  ])
  const by = async (query: object) => (await stage.ask(query)).rows.map(({ cost: one }) => one)
  expect(await by({ campaign: '=spring' })).toEqual([10, 2.000001])
  expect(await by({ campaign: '=spring', country: 'de' })).toEqual([2.000001])
  expect(await by({ campaign: '', ad_group: ['', 'y'], partner: 'b' })).toEqual([1, 1, 5])
  // Each day that the window touches is whole, and the answer says so.
  const noon = Date.UTC(2026, 5, 2, 12)
  const touched = await stage.ask({ since_ms: noon, until_ms: noon + day_ms, partner: 'b' })
  expect([touched.rows.map(({ day }) => day), touched.meta.whole_days]).toEqual([['2026-06-02', '2026-06-03'], true])
  expect((await stage.ask({ since_ms: -5, until_ms: 0 })).rows).toEqual([])
  await stage.close()
})

test('as CSV it has all rows, made harmless for spreadsheets, and a tag that follows the costs', async () => {
  const stage = await openStage()
  await stage.put([cost({ campaign: '=1+1', ad_group: 'a,"b"' })])
  const query = `since_ms=${Date.UTC(2026, 5, 1)}&until_ms=${Date.UTC(2026, 6, 1)}`
  const first = await stage.csv(query)
  expect(first.body.split('\r\n')).toEqual([
    'day,partner,campaign,ad_group,country,cost,currency,cost_usd,clicks,impressions,uploaded_at_ms',
    `2026-06-01,acme,'=1+1,"a,""b""",,1,USD,1,,,${now_ms}`,
    '',
  ])
  await stage.put([cost({ campaign: '=1+1', ad_group: 'a,"b"', cost: 2 })])
  expect((await stage.csv(query)).headers.etag).not.toBe(first.headers.etag)
  await stage.close()
})

interface Upload {
  as_of_ms: number | undefined
  costs: ReturnType<typeof cost>[]
}

/** Brute force: of each key the cost of the upload with the greatest (as_of_ms, order). */
function newestOf(uploads: readonly Upload[]) {
  const newest = new Map<string, { as_of_ms: number; cost: Record<string, unknown> }>()
  for (const { as_of_ms = 0, costs } of uploads) {
    for (const one of costs as Record<string, unknown>[]) {
      const key = JSON.stringify([one.day, one.partner, one.campaign ?? '', one.ad_group ?? '', one.country ?? ''])
      if (as_of_ms >= (newest.get(key)?.as_of_ms ?? 0)) newest.set(key, { as_of_ms, cost: one })
    }
  }
  return [...newest]
    .filter(([, { cost: one }]) => one.cost !== 0)
    .map(([key, { cost: one }]) => [...JSON.parse(key), one.cost, one.currency, one.clicks ?? null])
    .sort((a, b) => (JSON.stringify(a.slice(0, 5)) < JSON.stringify(b.slice(0, 5)) ? -1 : 1))
}

const anyCost = fc.record(
  {
    day: fc.constantFrom('2026-06-01', '2026-06-02'),
    partner: fc.constantFrom('a', 'b'),
    campaign: fc.constantFrom('', 'c', 'é', "'; DROP TABLE costs_v1 --", '\\', '\u{1f600}'),
    country: fc.constantFrom('', 'DE'),
    cost: fc.constantFrom(0, 1, 0.000001, 999999999.999999, 12.34),
    currency: fc.constantFrom('USD', 'EUR'),
    clicks: fc.option(fc.nat(9)),
  },
  { requiredKeys: ['day', 'partner', 'cost', 'currency'] },
)
const anyUpload = fc.record({
  as_of_ms: fc.constantFrom(undefined, undefined, 0, 1, 2, 1_780_000_000_000),
  costs: fc.array(anyCost, { minLength: 1, maxLength: 8 }),
})

test('any order of uploads and repeats leaves of each key what counts whole, merged or not', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyUpload, { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(100), { maxLength: 3 }),
      fc.boolean(),
      async (uploads, again, merged) => {
        const stage = await openStage()
        const sent: Upload[] = [...(uploads as Upload[]), ...again.map((n) => uploads[n % uploads.length] as Upload)]
        for (const { costs, as_of_ms } of sent) await stage.put(costs, as_of_ms)
        if (merged) await clickhouse.command('OPTIMIZE TABLE costs_v1 FINAL')
        const { rows } = await stage.ask()
        const found = rows.map((row) => [...Object.values(row).slice(0, 7), row.clicks])
        expect(found.sort((a, b) => (JSON.stringify(a.slice(0, 5)) < JSON.stringify(b.slice(0, 5)) ? -1 : 1))).toEqual(
          newestOf(sent),
        )
        await stage.close()
      },
    ),
    { numRuns: 12 },
  )
})

test('uploads at once are each stored whole, and a repeat with as_of_ms changes nothing that a later one said', async () => {
  const stage = await openStage()
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => stage.put([cost({ campaign: `c${n}`, cost: n + 1 }), cost()], 5)),
  )
  const old = [cost({ cost: 7 })]
  await stage.put(old, 10)
  await stage.put([cost({ cost: 8 })], 11)
  await stage.put(old, 10)
  const { rows } = await stage.ask()
  expect(rows.length).toBe(21)
  expect(rows.find(({ campaign }) => campaign === '')?.cost).toBe(8)
  await stage.close()
})

test('after PostgreSQL was put back to an earlier state a new upload still beats the stored ones', async () => {
  const before = await openStage()
  for (const n of [1, 2, 3])
    await before.put([cost({ cost: n, campaign: randomUUID().slice(0, 8) }), cost({ cost: n })])
  await postgres.pool.query(`SELECT setval('cost_numbers', 1, false)`)
  await before.put([cost({ cost: 4 })]) // the same process
  expect((await before.ask({ campaign: '' })).rows.map(({ cost: one }) => one)).toEqual([4])
  await before.close()
  await postgres.pool.query(`SELECT setval('cost_numbers', 1, false)`)
  const costs = openCosts({ clickhouse, pool: postgres.pool }) // a process that starts after it
  const row = { day: '2026-06-01', partner: 'acme', campaign: '', ad_group: '', country: '', cost_micros: 5e6 }
  const upload = { app_id: before.app_id, as_of_ms: 0, uploaded_at_ms: now_ms }
  await costs.store({ ...upload, costs: [{ ...row, currency: 'USD', clicks: null, impressions: null }] })
  const found = await clickhouse.query(
    `SELECT cost_micros AS micros FROM costs_v1 FINAL WHERE app_id = {app_id:String} AND campaign = ''`,
    { app_id: before.app_id },
  )
  expect(found).toEqual([{ micros: 5e6 }])
})
