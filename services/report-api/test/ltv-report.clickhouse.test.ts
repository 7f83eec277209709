import { randomUUID } from 'node:crypto'
import type { EventRow } from '@tributary/contracts/rows'
import { insertInstalls, installRows, type TestDecision } from '@tributary/testing/engines/insert-verdicts'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openReports, type Query, type Reports } from './report-stage.ts'

const hour_ms = 3600 * 1000
const day_ms = 24 * hour_ms
const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms

let reports: Reports
beforeAll(async () => {
  // EUR has a rate from 3 March on, GBP one that no decimal holds, and XXX never.
  const rateOf = ({ day, currency }: { day: string; currency: string }) => {
    if (currency === 'GBP') return { usd: '1.1', units: '0.3' }
    return currency === 'EUR' && day >= '2026-03-03' ? { usd: '1.1', units: '1' } : null
  }
  reports = await openReports({ rateOf, now: () => march(20) })
})
afterAll(() => reports.close())

const decide = (install_uuid: string, installed_at_ms: number, given: Partial<TestDecision> = {}): TestDecision => {
  const partner = given.partner ?? 'organic'
  const attribution_type = partner === 'organic' ? 'organic' : 'install_referrer'
  const facts = { reinstall: false, flagged: false, pending: false }
  return { install_uuid, installed_at_ms, partner, attribution_type, ...facts, ...given }
}
const insertDecisions = (app_id: string, decisions: readonly TestDecision[]) =>
  insertInstalls(reports.clickhouse, installRows(app_id, decisions), randomUUID())

test('the ltv report equals a table worked out by hand', async () => {
  const app_id = randomUUID()
  const at = march(1, 10 * hour_ms) // the time of the installs of 1 March
  const paid = (install_uuid: string, ts_ms: number, usd: number, more: Partial<EventRow> = {}) =>
    testEventRow({ app_id, ts_ms, install_uuid, revenue_micros: `${usd * 1e6}`, currency: 'USD', ...more })
  const beaten = paid('a', at + 5, 50, { transaction_key: '5', partition: 1 })
  await reports.clickhouse.insertEvents(
    [
      paid('a', at - 1, 100), //                                          1 ms before the install
      paid('a', at, 1), //                                                D0: its first millisecond
      paid('a', at + day_ms - 1, 2), //                                   D0: its last millisecond
      paid('a', at + day_ms, 4), //                                       D1
      paid('b', at + 8 * day_ms - 1, 8), //                               D7: its last millisecond
      paid('b', at + 8 * day_ms, 16), //                                  D8
      paid('b', at + 31 * day_ms, 32), //                                 D31: only in the whole revenue
      paid('b', at + day_ms, -3, { event_name: 'purchase_refunded' }), // subtracts
      beaten, //                                                          its transaction was counted elsewhere
      paid('c', at + day_ms, 10, { currency: 'EUR' }), //                 2 March: no rate yet
      paid('c', at + 3 * day_ms, 10, { currency: 'EUR' }), //             11 USD
      paid('again', at, 64), //                                           a reinstall
      paid('waits', at, 64),
      paid('early', at, 64), //                                           installed 1 ms before the window
      paid('d', march(2), 1, { currency: 'XXX' }),
      paid('nobody', at, 64), //                                          without an install event
    ],
    randomUUID(),
  )
  await reports.cancel([beaten])
  await insertDecisions(app_id, [
    decide('a', at, { partner: 'zen' }),
    decide('a', at, { partner: 'acme' }), // the newest verdict holds for all money
    decide('b', at, { partner: 'acme', flagged: true }),
    decide('c', at),
    decide('again', at, { partner: 'acme', reinstall: true }),
    decide('waits', at, { pending: true, partner: '', attribution_type: '' }),
    decide('early', march(1, 9 * hour_ms - 1), { partner: 'acme' }),
    decide('d', march(2), { partner: 'zen' }),
    decide('e', march(2), { partner: 'zen' }),
    decide('f', march(3)),
    decide('late', march(4)),
  ])
  await insertDecisions(randomUUID(), [decide('nobody', at)])
  const ask = (query: Query = {}) =>
    reports.ask('ltv', app_id, { since_ms: march(1, 9 * hour_ms), until_ms: march(4), ...query })
  const rowsOf = async (query: Query) => (await ask(query)).rows.map((row) => Object.values(row))
  //                day           partner  installs revenue d0 d7  d30 arpi: d0   d7   d30
  const rows = [
    ['2026-03-01', 'acme', 2, 60, 3, 12, 28, 1.5, 6, 14],
    ['2026-03-01', 'organic', 1, 11, 0, 11, 11, 0, 11, 11],
    ['2026-03-02', 'zen', 2, 0, 0, 0, 0, 0, 0, 0],
    ['2026-03-03', 'organic', 1, 0, 0, 0, 0, 0, 0, 0],
  ]
  expect(await rowsOf({})).toEqual(rows)
  expect(Object.keys((await ask()).rows[0]!).slice(4)).toEqual(
    ['d0_revenue_usd', 'd7_revenue_usd', 'd30_revenue_usd', 'd0_arpi_usd', 'd7_arpi_usd', 'd30_arpi_usd'], //
  )
  expect(await rowsOf({ limit: 2, offset: 1 })).toEqual(rows.slice(1, 3))
  // The whole day, with `early`.
  expect(await rowsOf({ since_ms: march(1), limit: 1 })).toEqual([
    ['2026-03-01', 'acme', 3, 124, 67, 76, 92, 22.3333, 25.3333, 30.6667],
  ])
  expect(await rowsOf({ partner: ['ACME'] })).toEqual(rows.slice(0, 1))
  expect((await ask({ days: '31,1,8,1', limit: 1 })).rows).toEqual([
    {
      ...{ day: '2026-03-01', partner: 'acme', installs: 2, revenue_usd: 60 },
      ...{ d1_revenue_usd: 4, d8_revenue_usd: 28, d31_revenue_usd: 60 },
      ...{ d1_arpi_usd: 2, d8_arpi_usd: 14, d31_arpi_usd: 30 },
    },
  ])
  expect(await rowsOf({ group: 'week', days: '365' })).toEqual([
    ['2026-02-23', 'acme', 2, 60, 60, 30], // 1 March is a Sunday
    ['2026-02-23', 'organic', 1, 11, 11, 11],
    ['2026-03-02', 'organic', 1, 0, 0, 0],
    ['2026-03-02', 'zen', 2, 0, 0, 0],
  ])
  expect(await rowsOf({ group: 'month', days: '0' })).toEqual([
    ['2026-03-01', 'acme', 2, 60, 3, 1.5],
    ['2026-03-01', 'organic', 2, 11, 0, 0],
    ['2026-03-01', 'zen', 2, 0, 0, 0],
  ])
  const missing = async (query: Query = {}) => (await ask(query)).meta.missing_rates
  expect(await missing({ limit: 1 })).toEqual(['EUR', 'XXX'])
  expect(await missing({ partner: ['zen'] })).toEqual(['XXX'])
  expect(await missing({ partner: ['acme'] })).toBeUndefined()
})

test('lifetime value is rounded once, exactly, and divided before', async () => {
  const app_id = randomUUID()
  const money = (day: number, install_uuid: string, revenue_micros: string, currency = 'USD') =>
    testEventRow({ app_id, ts_ms: march(day, 1), install_uuid, revenue_micros, currency })
  await reports.clickhouse.insertEvents(
    [
      ...[money(1, 'a', '200'), money(1, 'b', '50')], //            0.00025 is 0.0003, half of it 0.000125 is 0.0001
      ...[money(2, 'c', '25', 'GBP'), money(2, 'c', '-125', 'GBP')], // -100 x 11 / 3 is -0.00037 to the next place
      ...[money(3, 'd', '75', 'GBP'), money(3, 'd', '-25')], //     75 x 11 / 3 is 275 and no digit less: 0.00025 is 0.0003
      ...[money(4, 'e', '-75', 'GBP'), money(4, 'e', '25')],
      ...Array.from({ length: 20_000 }, () => money(5, 'f', '1000000000000000')), // the sum passes 2^63
    ],
    randomUUID(),
  )
  const installed = { a: 1, b: 1, c: 2, d: 3, e: 4, f: 5 }
  await insertDecisions(
    app_id,
    Object.entries(installed).map(([name, day]) => decide(name, march(day))),
  )
  const { rows } = await reports.ask('ltv', app_id, { since_ms: march(1), until_ms: march(6), days: '0' })
  expect(rows.map(({ revenue_usd, d0_arpi_usd }) => [revenue_usd, d0_arpi_usd])).toEqual([
    [0.0003, 0.0001],
    [-0.0004, -0.0004],
    [0.0003, 0.0003],
    [-0.0003, -0.0003],
    [2e13, 2e13],
  ])
})

test('group and days hold for every report, and the meta tells until when installs are mature', async () => {
  const app_id = randomUUID()
  const april = Date.UTC(2026, 3, 1)
  const event = (install_uuid: string, ts_ms: number, more: Partial<EventRow> = {}) =>
    testEventRow({ app_id, install_uuid, ts_ms, event_name: 'open', ...more })
  const buy = (install_uuid: string, ts_ms: number, currency: string) =>
    event(install_uuid, ts_ms, { event_name: 'buy', revenue_micros: '1000000', currency })
  // Sunday, 1 March; Monday, 2 March; Sunday, 8 March; Tuesday, 31 March; Wednesday, 1 April
  const days = [march(1), march(2), march(8), march(31), april]
  await reports.clickhouse.insertEvents(
    [
      ...days.map((ts_ms) => event('a', ts_ms)),
      ...[event('b', march(2)), event('b', march(8, 13 * hour_ms))],
      ...[buy('a', march(2), 'EUR'), buy('a', march(8), 'EUR'), buy('a', march(4), 'USD'), buy('b', march(2), 'EUR')],
    ],
    randomUUID(),
  )
  await insertDecisions(app_id, [
    decide('a', march(1), { partner: 'acme' }),
    decide('b', march(2), { partner: 'acme' }),
    decide('c', march(8), { partner: 'acme' }),
    decide('d', april, { partner: 'acme' }),
  ])
  const ask = (name: 'attribution' | 'revenue' | 'cohorts' | 'events', query: Query) =>
    reports.ask(name, app_id, { since_ms: march(1), until_ms: april + day_ms, ...query })
  const rowsOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).rows.map((row) => Object.values(row))

  // The window begins and ends inside of a period and of a day.
  const part = { since_ms: march(2, 1), until_ms: march(8, 13 * hour_ms) }
  expect(await rowsOf('attribution', { group: 'week' })).toEqual([
    ['2026-02-23', 'acme', 'install_referrer', 1, 0, 0, 0],
    ['2026-03-02', 'acme', 'install_referrer', 2, 0, 0, 0],
    ['2026-03-30', 'acme', 'install_referrer', 1, 0, 0, 0],
  ])
  expect(await rowsOf('attribution', { group: 'month', ...part })).toEqual([
    ['2026-03-01', 'acme', 'install_referrer', 1, 0, 0, 0],
  ])
  expect(await rowsOf('events', { group: 'week' })).toEqual([
    ['2026-02-23', 'open', 1, 1, 0],
    ['2026-03-02', 'buy', 4, 2, 2.1], // EUR only has a rate on the 8th
    ['2026-03-02', 'open', 4, 2, 0],
    ['2026-03-30', 'open', 2, 1, 0],
  ])
  expect(await rowsOf('events', { group: 'week', limit: 2, offset: 2 })).toEqual([
    ['2026-03-02', 'open', 4, 2, 0],
    ['2026-03-30', 'open', 2, 1, 0],
  ])
  expect(await rowsOf('events', { group: 'month', ...part })).toEqual([
    ['2026-03-01', 'buy', 2, 1, 2.1],
    ['2026-03-01', 'open', 1, 1, 0],
  ])
  expect(await rowsOf('revenue', { group: 'month' })).toEqual([['2026-03-01', 'acme', 4, 2.1, 2.1]])
  expect((await ask('revenue', { group: 'week' })).meta.missing_rates).toEqual(['EUR'])
  const cohorts = await ask('cohorts', { group: 'month', days: '0,1,30' })
  expect(cohorts.rows).toEqual([
    {
      ...{ day: '2026-03-01', installs: 3, d0: 3, d1: 1, d7: 1, d30: 1 },
      ...{ d0_rate: 1, d1_rate: 0.3333, d7_rate: 0.3333, d30_rate: 0.3333 },
    },
    {
      ...{ day: '2026-04-01', installs: 1, d0: 1, d1: 0, d7: 0, d30: 0 },
      ...{ d0_rate: 1, d1_rate: 0, d7_rate: 0, d30_rate: 0 },
    },
  ])
  expect(await rowsOf('cohorts', { group: 'week', limit: 1, offset: 1 })).toEqual([
    ['2026-03-02', 2, 0, 0, 0, 0, 0, 0], //
  ])
  expect(cohorts.meta.mature_until_ms).toBe(march(20) - 31 * day_ms)
  expect((await ask('cohorts', { days: '90,2' })).meta.mature_until_ms).toBe(march(20) - 91 * day_ms)
  expect((await ask('events', {})).meta).not.toHaveProperty('mature_until_ms')
  const wrong: Query[] = [{ group: 'year' }, { days: '366' }, { days: '1,,2' }, { days: '0,1,2,3,4,5,6,7,8,9,10' }]
  for (const query of wrong) {
    const answer = await reports.request('cohorts', app_id, query)
    expect(answer.json()).toMatchObject({ error: 'invalid_field', field: Object.keys(query)[0] })
  }
  expect((await reports.request('events', app_id, { days: ['1'] })).json()).toMatchObject({
    error: 'unknown_parameter',
  })
})

test('a window of long ago asks nothing that a server would refuse: a parameter has 128 KiB at most', async () => {
  const app_id = randomUUID()
  const at = march(1)
  const money = { revenue_micros: '1000000', currency: 'USD' }
  await reports.clickhouse.insertEvents(
    [testEventRow({ app_id, ts_ms: at, install_uuid: 'a', ...money })],
    randomUUID(),
  )
  await insertDecisions(app_id, [decide('a', at)])
  const { query } = reports.clickhouse
  const sizes: number[] = []
  reports.clickhouse.query = (sql, params) => {
    for (const value of Object.values(params ?? {})) sizes.push(JSON.stringify(value).length)
    return query(sql, params)
  }
  try {
    for (const since_ms of [0, 1, Date.UTC(2010, 0, 1), march(1)]) {
      const { rows } = await reports.ask('ltv', app_id, { since_ms, until_ms: since_ms + 5 * day_ms })
      expect(rows.map(({ revenue_usd }) => revenue_usd)).toEqual(since_ms === at ? [1] : [])
    }
  } finally {
    reports.clickhouse.query = query
  }
  expect(Math.max(...sizes)).toBeLessThan(128 * 1024)
})
