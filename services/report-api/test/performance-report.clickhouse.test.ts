import { randomUUID } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { freezeClicks } from '@tributary/tables/attribution/frozen-clicks'
import { insertInstalls, installRows, type TestDecision } from '@tributary/testing/engines/insert-verdicts'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openReports, type Query, type Reports } from './report-stage.ts'

const hour_ms = 3600 * 1000
const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms

let reports: Reports
beforeAll(async () => {
  // EUR is worth 2 USD, and XXX has no rate.
  const rateOf = ({ currency }: { currency: string }) => (currency === 'EUR' ? { usd: '2', units: '1' } : null)
  reports = await openReports({ rateOf, now: () => march(20), embedded: true })
  // The engine lets clicks expire by its own clock.
  await reports.clickhouse.command('ALTER TABLE clicks_raw_v1 REMOVE TTL')
})
afterAll(() => reports.close())

const decide = (install_uuid: string, installed_at_ms: number, given: Partial<TestDecision> = {}): TestDecision => ({
  ...{ install_uuid, installed_at_ms, partner: 'organic', reinstall: false, flagged: false, pending: false },
  ...given,
  attribution_type: given.partner === undefined ? 'organic' : 'click_id',
})
const spring = { partner: 'acme', campaign: 'spring' }

interface Cost {
  day: string
  partner: string
  campaign?: string
  country?: string
  cost: number
  currency?: string
}
const insertCosts = (app_id: string, costs: readonly Cost[]) => {
  const columns = ['app_id', 'day', 'partner', 'campaign', 'ad_group', 'country', 'cost_micros', 'currency', 'number']
  const lines = costs.map(({ cost, currency = 'USD', ...one }, number) => {
    const row: Record<string, unknown> = { app_id, ...one, cost_micros: cost * 1e6, currency, number }
    return JSON.stringify(columns.map((column) => row[column] ?? ''))
  })
  return reports.clickhouse.insert({ table: 'costs_v1', columns, lines: lines.join('\n'), token: randomUUID() })
}

/** One app with all of it, on 1 and 2 March. */
async function makeApp(): Promise<string> {
  const app_id = randomUUID()
  const decisions = [
    decide('a', march(1, hour_ms), { ...spring, country: 'DE' }),
    decide('b', march(1, 2 * hour_ms), { ...spring, country: 'FR', flagged: true }),
    decide('c', march(1, 3 * hour_ms), { ...spring, reinstall: true }),
    decide('d', march(2), { partner: 'zen' }),
    decide('d', march(2), { ...spring, sub1: 's' }), //   the newest verdict counts
    decide('e', march(2), { country: 'DE' }), //           organic
  ]
  await insertInstalls(reports.clickhouse, installRows(app_id, decisions), randomUUID())
  const money = (install_uuid: string, ts_ms: number, revenue: number, currency = 'USD') =>
    testEventRow({
      ...{ app_id, install_uuid, ts_ms, event_name: 'purchase', currency },
      ...{ revenue_micros: String(revenue * 1e6), revenue_counts: 1 },
    })
  const paid = [
    money('a', march(1), 50), //               before its install
    money('a', march(1, 2 * hour_ms), 3), //   its day 0
    money('a', march(3), 4, 'EUR'), //         its day 1: 8 USD
    money('b', march(9), 1, 'XXX'), //         no rate
    money('c', march(2), 9), //                of a reinstall
  ]
  await reports.clickhouse.insertEvents(paid, randomUUID())
  await insertCosts(app_id, [
    { day: '2026-03-01', ...spring, country: 'DE', cost: 2 },
    { day: '2026-03-01', ...spring, country: 'FR', cost: 1, currency: 'EUR' },
    { day: '2026-03-02', partner: 'acme', cost: 10 },
    { day: '2026-03-01', partner: 'idle', campaign: 'c', cost: 1, currency: 'ZZZ' },
  ])
  await reports.clickhouse.command(
    `INSERT INTO clicks_raw_v1 (app_id, click_id, day, clicked_at_ms, partner, campaign, filtered_reason, click) VALUES
     ('${app_id}', '1', '2026-03-01', ${march(1, 5)}, 'acme', 'spring', '', '{"country":"DE","ad_group":null,"link_id":"l"}'),
     ('${app_id}', '1', '2026-03-01', ${march(1, 5)}, 'acme', 'spring', '', '{"country":"DE","ad_group":null,"link_id":"l"}'),
     ('${app_id}', '2', '2026-03-01', ${march(1, 6)}, 'acme', 'spring', 'bot', '{"country":"DE","link_id":"l"}'),
     ('${app_id}', '3', '2026-03-02', ${march(2)}, 'new', '', '', '{"country":null,"link_id":"m"}')`,
  )
  return app_id
}
const window = { since_ms: march(1, 5 * hour_ms), until_ms: march(2, 1) }

test('the performance report equals a table worked out by hand', async () => {
  const app_id = await makeApp()
  const ask = async (query: Query = {}) => {
    const { rows, meta } = await reports.ask('performance', app_id, { ...window, ...query })
    return { lines: rows.map((row) => Object.values(row)), meta }
  }
  const { lines, meta } = await ask()
  // day, partner, campaign, clicks, installs, reinstalls, flagged, purchases, payers, revenue, cost, cpi, roas
  expect(lines).toEqual([
    ['2026-03-01', 'acme', 'spring', 1, 2, 1, 1, 3, 1, 11, 4, 2, 2.75],
    ['2026-03-01', 'idle', 'c', 0, 0, 0, 0, 0, 0, 0, 0, null, null],
    ['2026-03-02', 'acme', '*', 0, 0, 0, 0, 0, 0, 0, 10, null, 0],
    ['2026-03-02', 'acme', 'spring', 0, 1, 0, 0, 0, 0, 0, null, null, null],
    ['2026-03-02', 'new', '', 1, 0, 0, 0, 0, 0, 0, null, null, null],
    ['2026-03-02', 'organic', '', 0, 1, 0, 0, 0, 0, 0, null, null, null],
  ])
  expect(meta).toMatchObject({ since_ms: march(1), until_ms: march(3), rows: 6, missing_rates: ['XXX', 'ZZZ'] })
  expect(meta.totals).toEqual({
    ...{ clicks: 2, installs: 4, reinstalls: 1, fraud_flagged: 1, purchases: 3, payers: 1, revenue_usd: 11 },
    ...{ cost_usd: 14, cpi_usd: 3.5, roas: 0.7857 },
  })
  expect((await ask({ sort: '-cost_usd', limit: 2, offset: 1 })).lines.map((row) => row.slice(0, 3))).toEqual([
    ['2026-03-01', 'acme', 'spring'],
    ['2026-03-01', 'idle', 'c'],
  ])
  expect((await ask({ sort: 'cost_usd', offset: 3 })).lines.map((row) => row[1])).toEqual(['acme', 'new', 'organic'])
  const none = await ask({ by: '', group: 'none', days: '0,1' })
  expect(none.lines).toEqual([[2, 4, 1, 1, 3, 1, 11, 14, 3.5, 0.7857, 4, 1, 3, 0.2143, 1, 0.25, 11, 0.7857]])
  expect((await ask({ by: 'country', group: 'none' })).lines.map((row) => [...row.slice(0, 3), row[8]])).toEqual([
    ['', 1, 1, null],
    ['*', 0, 0, 10],
    ['DE', 1, 2, 2],
    ['FR', 0, 1, 2],
  ])
  const of_sub = await ask({ by: 'sub1', group: 'none', partner: 'acme' })
  expect(of_sub.lines.map((row) => [...row.slice(0, 3), row[8]])).toEqual([
    ['', null, 2, null],
    ['s', null, 1, null],
  ])
  expect((await ask({ by: 'link_id', group: 'none', country: 'DE' })).lines.map((row) => row.slice(0, 3))).toEqual([
    ['', 0, 2],
    ['l', 1, 0],
  ])
  const csv = await reports.request('performance', app_id, { ...window, by: 'campaign', format: 'csv' })
  expect(csv.body.split('\r\n').slice(0, 2)).toEqual([
    'day,campaign,clicks,installs,reinstalls,fraud_flagged,purchases,payers,revenue_usd,cost_usd,cpi_usd,roas',
    '2026-03-01,c,0,0,0,0,0,0,0,0,,',
  ])
})

test('money alone is no cost: a group without an upload has none', async () => {
  const app_id = randomUUID()
  const installs = installRows(app_id, [decide('a', march(1), spring), decide('b', march(1))])
  await insertInstalls(reports.clickhouse, installs, randomUUID())
  const bought = { event_name: 'purchase', currency: 'USD', revenue_micros: '3000000', revenue_counts: 1 as const }
  const paid = ['a', 'b'].map((install_uuid) => testEventRow({ app_id, install_uuid, ts_ms: march(1, 5), ...bought }))
  await reports.clickhouse.insertEvents(paid, randomUUID())
  await insertCosts(app_id, [{ day: '2026-03-01', ...spring, cost: 2 }])
  const { rows } = await reports.ask('performance', app_id, { since_ms: march(1), until_ms: march(2), by: 'partner' })
  expect(rows).toMatchObject([
    { partner: 'acme', revenue_usd: 3, cost_usd: 2, roas: 1.5 },
    { partner: 'organic', revenue_usd: 3, cost_usd: null, roas: null },
  ])
})

test('clicks of a frozen day count as they did then, and not by what the counts do not know', async () => {
  const app_id = randomUUID()
  const click = (id: string, day: number, of: object) =>
    `('${app_id}', '${id}', '2026-03-0${day}', ${march(day)}, 'acme', 'spring', '', '${JSON.stringify(of)}')`
  const insertClicks = (...rows: string[]) =>
    reports.clickhouse.command(
      `INSERT INTO clicks_raw_v1 (app_id, click_id, day, clicked_at_ms, partner, campaign, filtered_reason, click) VALUES ${rows.join(', ')}`,
    )
  await insertClicks(click('1', 1, { country: 'DE', sub1: 's' }), click('2', 1, {}), click('3', 2, { sub1: 's' }))
  const ask = async (query: Query = {}) => {
    const { rows, meta } = await reports.ask('performance', app_id, {
      ...window,
      group: 'none',
      by: 'country',
      ...query,
    })
    return [...rows.map(({ country, clicks }) => [country, clicks]), meta.totals?.clicks]
  }
  expect(await ask()).toEqual([['', 2], ['DE', 1], 3])
  expect(await ask({ sub1: 's' })).toEqual([['', 1], ['DE', 1], 2])
  await freezeClicks(reports.clickhouse, "toDate('2026-03-02')", { now_ms: 1, signal: new AbortController().signal })
  await insertClicks(click('4', 1, { country: 'DE' }), click('5', 2, { country: 'FR' }))
  expect(await ask()).toEqual([['', 2], ['DE', 1], ['FR', 1], 4])
  await reports.clickhouse.command(`DELETE FROM clicks_raw_v1 WHERE app_id = '${app_id}' AND day = '2026-03-01'`)
  expect(await ask()).toEqual([['', 2], ['DE', 1], ['FR', 1], 4])
  expect(await ask({ country: ['DE', 'FR'], link_id: '' })).toEqual([['DE', 1], ['FR', 1], 2])
  expect(await ask({ sub1: 's' })).toEqual([null])
})

test.each([
  ['by', { by: 'partner,partner' }],
  ['by', { by: 'os' }],
  ['by', { by: 'partner,campaign,ad_group,creative,link_id,sub1' }],
  ['by', { by: ['partner', 'campaign'] }],
  ['by', { by: 'partner,' }],
  ['sort', { sort: 'campaign', by: 'partner' }],
  ['sort', { sort: 'day', group: 'none' }],
  ['sort', { sort: 'd7_rate' }],
  ['group', { group: 'year' }],
])('a wrong %s is refused: %j', async (field, query: Query) => {
  const answer = await reports.request('performance', 'any', query)
  expect([answer.statusCode, answer.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_field', field })])
})

test('more rows than an answer may have are refused, and one less is answered', async () => {
  const app_id = randomUUID()
  const fill = (from: number, rows: number) =>
    reports.clickhouse.command(
      `INSERT INTO costs_v1 (app_id, day, partner, campaign, cost_micros, currency)
       SELECT '${app_id}', '2026-03-01', 'p', toString(number), 1, 'USD' FROM numbers(${from}, ${rows})`,
    )
  const ask = () => reports.request('performance', app_id, { ...window, limit: 1 })
  await fill(0, limits.report_grouped_rows_max)
  expect((await ask()).json()).toMatchObject({ meta: { rows: limits.report_grouped_rows_max } })
  await fill(limits.report_grouped_rows_max, 1)
  const refused = await ask()
  expect([refused.statusCode, refused.json()]).toEqual([400, expect.objectContaining({ error: 'too_many_rows' })])
})

test('a question with more groups than memory holds is refused as one with too many rows', async () => {
  const app_id = randomUUID()
  await reports.clickhouse.command(
    `INSERT INTO installs_by_dimensions_v1 (app_id, day, installed_at_ms, install_key, partner, sub1, sub2, sign, offset)
     SELECT '${app_id}', '2026-03-01', ${march(1)}, number, 'p', hex(sipHash128(number)), hex(sipHash128(number, 1)), 1, number
     FROM numbers(1000000)`,
  )
  const refused = await reports.request('performance', app_id, { ...window, by: 'sub1,sub2', days: '0,1,7', limit: 1 })
  expect([refused.statusCode, refused.json()]).toEqual([400, expect.objectContaining({ error: 'too_many_rows' })])
})
