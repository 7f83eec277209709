import { randomUUID } from 'node:crypto'
import type { EventRow } from '@tributary/contracts/rows'
import { insertInstalls, installRows, type TestDecision } from '@tributary/testing/engines/insert-verdicts'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openReports, type Reports } from './report-stage.ts'

const hour_ms = 3600 * 1000
const day_ms = 24 * hour_ms
const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms

let reports: Reports
beforeAll(async () => {
  // EUR has a rate from 3 March on, and XXX never.
  const rateOf = ({ day, currency }: { day: string; currency: string }) =>
    currency === 'EUR' && day >= '2026-03-03' ? { usd: '1.1', units: '1' } : null
  reports = await openReports({ rateOf, now: () => march(20) })
})
afterAll(() => reports.close())

const decide = (install_uuid: string, installed_at_ms: number, given: Partial<TestDecision> = {}): TestDecision => {
  const partner = given.partner ?? 'organic'
  const attribution_type = partner === 'organic' ? 'organic' : 'install_referrer'
  const facts = { reinstall: false, flagged: false, pending: false }
  return { install_uuid, installed_at_ms, partner, attribution_type, ...facts, ...given }
}
const pending = { pending: true, partner: '', attribution_type: '' }

const insertDecisions = (app_id: string, decisions: readonly TestDecision[]) =>
  insertInstalls(reports.clickhouse, installRows(app_id, decisions), randomUUID())

test('the attribution report equals a table worked out by hand', async () => {
  const app_id = randomUUID()
  await insertDecisions(app_id, [
    // 1 March, partly covered: the window begins at 06:00.
    decide('a', march(1, 6 * hour_ms - 1), { partner: 'acme' }), //                         1 ms too early
    decide('b', march(1, 6 * hour_ms), { partner: 'acme' }), //                             the first that counts
    decide('c', march(1, 7 * hour_ms), { partner: 'acme', flagged: true }),
    decide('d', march(1, 7 * hour_ms), { partner: 'acme', attribution_type: 'device_id' }),
    decide('e', march(1, 8 * hour_ms), { partner: 'acme', reinstall: true, flagged: true }), // flagged, but no install
    // 2 March: `f` waits for its click, then has it; `g` still waits; `h` goes from acme to zen and back to organic.
    decide('f', march(2), pending),
    decide('f', march(2), { partner: 'zen' }),
    decide('g', march(2), pending),
    decide('h', march(2, day_ms - 1), { partner: 'acme' }),
    decide('h', march(2, day_ms - 1), { partner: 'zen' }),
    decide('h', march(2, day_ms - 1)),
    decide('i', march(2, 5), { flagged: true }),
    decide('j', march(2, 5), { partner: 'only-reinstalls', reinstall: true }),
    // `k` was an install of 2 March until an event with another time became its install event.
    decide('k', march(2, 5), { partner: 'moved' }),
    decide('k', march(4, 5), { partner: 'moved' }),
    // 3 March has nothing. 4 March, partly covered: the window ends before 12:00.
    decide('l', march(4, 12 * hour_ms - 1), { partner: 'acme' }), //                        the last that counts
    decide('m', march(4, 12 * hour_ms), { partner: 'acme' }), //                            1 ms too late
  ])
  await insertDecisions(randomUUID(), [decide('a', march(2))])
  const window = { since_ms: march(1, 6 * hour_ms), until_ms: march(4, 12 * hour_ms) }
  //  day           partner            attribution_type    installs organic reinstalls fraud_flagged
  const rows = [
    ['2026-03-01', 'acme', 'device_id', 1, 0, 0, 0],
    ['2026-03-01', 'acme', 'install_referrer', 2, 0, 1, 1],
    ['2026-03-02', 'only-reinstalls', 'install_referrer', 0, 0, 1, 0],
    ['2026-03-02', 'organic', 'organic', 2, 2, 0, 1],
    ['2026-03-02', 'zen', 'install_referrer', 1, 0, 0, 0],
    ['2026-03-04', 'acme', 'install_referrer', 1, 0, 0, 0],
    ['2026-03-04', 'moved', 'install_referrer', 1, 0, 0, 0],
  ]
  const ask = async (query = {}) =>
    (await reports.ask('attribution', app_id, { ...window, ...query })).rows.map((row) => Object.values(row))
  expect(await ask()).toEqual(rows)
  expect(await ask({ limit: 2, offset: 3 })).toEqual(rows.slice(3, 5))
  expect(await ask({ partner: ['ACME', 'moved'] })).toEqual(
    rows.filter(([, partner]) => /acme|moved/.test(`${partner}`)),
  )
  expect(await ask({ attribution_type: ['device_id'], partner: ['acme'] })).toEqual([rows[0]])
  expect(await ask({ partner: ["'; --"] })).toEqual([])
})

test('the revenue report equals a table worked out by hand', async () => {
  const app_id = randomUUID()
  const paid = (
    ts_ms: number,
    install_uuid: string,
    revenue_micros: string,
    currency = 'USD',
    event_name = 'purchase',
    more: Partial<EventRow> = {},
  ) => testEventRow({ app_id, ts_ms, install_uuid, revenue_micros, currency, event_name, ...more })
  const transaction = { transaction_key: '5', partition: 1 }
  const beaten = paid(march(2), 'a', '7000000', 'USD', 'purchase', transaction)
  await reports.clickhouse.insertEvents(
    [
      paid(march(1, -1), 'a', '1000000'), //                            1 ms too early
      paid(march(1), 'a', '4000000'), //                                acme: two purchases of one install
      paid(march(1), 'a', '2000000'),
      paid(march(1), 'b', '1000000'), //                                acme, a second payer
      paid(march(1), 'c', '9000000'), //                                a reinstall: the money of its own verdict, zen
      paid(march(1), 'd', '1000000'), //                                no install event: organic
      paid(march(1), 'e', '1000000'), //                                waits for its click: organic
      paid(march(1), 'g', '0', 'USD'), //                               organic: a purchase that pays nothing
      testEventRow({ app_id, ts_ms: march(1), install_uuid: 'a' }), //  no money
      // 2 March: EUR has no rate yet.
      paid(march(2), 'a', '5000000', 'EUR'), //                         a purchase, but no USD and no payer
      beaten, //                                                        its transaction was counted elsewhere
      paid(march(2), 'a', '7000000', 'USD', 'purchase', { ...transaction, revenue_counts: 0 }),
      paid(march(2), 'b', '-3000000', 'USD', 'chargeback'), //          taken as it is: a purchase, no payer
      paid(march(2), 'c', '-3000000', 'XXX', 'purchase_refunded'), //   zen: a lone refund without a rate
      // 4 March: EUR has the rate of the day before it.
      paid(march(4), 'a', '5000000', 'EUR'), //                         5.5 USD
      paid(march(4), 'b', '1000000', 'USD'),
      paid(march(4), 'b', '1000000', 'XXX'),
      paid(march(4), 'f', '1000000', 'XXX'), //                         pays in nothing that is known
      paid(march(4), 'a', '-1500000', 'USD', 'subscription_refunded'),
      paid(march(5), 'a', '1000000'), //                                too late
    ],
    randomUUID(),
  )
  await reports.cancel([beaten])
  await reports.cancel([beaten]) // a second sweep
  await insertDecisions(app_id, [
    decide('a', march(1), { partner: 'zen' }),
    decide('a', march(1), { partner: 'acme' }), // the newest verdict holds for all money, also before it
    decide('b', march(9), { partner: 'acme' }), // installed after the window
    decide('c', march(1), { partner: 'zen', reinstall: true }),
    decide('e', march(1), pending),
    decide('f', march(1), { partner: 'acme', flagged: true }),
    decide('g', march(1)),
  ])
  await insertDecisions(randomUUID(), [decide('d', march(1), { partner: 'other-app' })])
  //  day          partner   purchases revenue_usd arppu_usd
  const rows = [
    ['2026-03-01', 'acme', 3, 7, 3.5],
    ['2026-03-01', 'organic', 3, 2, 1],
    ['2026-03-01', 'zen', 1, 9, 9],
    ['2026-03-02', 'acme', 2, -3, 0],
    ['2026-03-02', 'zen', 0, 0, 0],
    ['2026-03-04', 'acme', 4, 5, 2.5],
  ]
  const window = { since_ms: march(1), until_ms: march(5) }
  const ask = (query = {}) => reports.ask('revenue', app_id, { ...window, ...query })
  const rowsOf = async (query = {}) => (await ask(query)).rows.map((row) => Object.values(row))
  expect(await rowsOf()).toEqual(rows)
  for (const limit of [1, 2, 4, 5, 6, 7]) {
    const pages = []
    for (let offset = 0; offset < 7; offset += limit) pages.push(...(await rowsOf({ limit, offset })))
    expect(pages).toEqual(rows)
  }
  expect(await rowsOf({ partner: ['zen', 'nobody'] })).toEqual([rows[2], rows[4]])

  const missing = async (query = {}) => (await ask(query)).meta.missing_rates
  expect(await missing()).toEqual(['EUR', 'XXX'])
  expect(await missing({ limit: 1 })).toEqual(['EUR', 'XXX'])
  expect(await missing({ partner: ['zen'] })).toEqual(['XXX'])
  expect(await missing({ partner: ['organic'] })).toBeUndefined()
})

test('money of a row is divided before it is rounded, and sums pass 2^63 micros', async () => {
  const app_id = randomUUID()
  const money = (day: number, install_uuid: string, revenue_micros: string) =>
    testEventRow({ app_id, ts_ms: march(day), install_uuid, revenue_micros, currency: 'USD' })
  await reports.clickhouse.insertEvents(
    [
      ...[money(1, 'a', '200'), money(1, 'b', '50')], // 0.00025 is 0.0003, half of it 0.000125 is 0.0001
      ...[money(2, 'a', '200'), money(2, 'b', '50'), money(2, 'c', '50')], // 0.0003, a third of it 0.0001
      ...Array.from({ length: 20_000 }, () => money(3, 'a', '1000000000000000')),
    ],
    randomUUID(),
  )
  const { rows } = await reports.ask('revenue', app_id, { since_ms: march(1), until_ms: march(4) })
  expect(rows.map(({ revenue_usd, arppu_usd }) => [revenue_usd, arppu_usd])).toEqual([
    [0.0003, 0.0001],
    [0.0003, 0.0001],
    [2e13, 2e13],
  ])
})

test('an install is on day 0 by its install event, also if the clock of its device was slow', async () => {
  const app_id = randomUUID()
  // The batch came 200 ms after its event, so the install time is corrected to a time behind the event.
  await insertDecisions(app_id, [decide('slow', march(2, 200)), decide('alone', march(2))])
  const install = testEventRow({ app_id, install_uuid: 'slow', event_name: 'app_install', ts_ms: march(2) })
  await reports.clickhouse.insertEvents([install], randomUUID())
  for (const window of [
    { since_ms: march(2), until_ms: march(3) },
    { since_ms: march(2), until_ms: march(2, hour_ms) },
  ]) {
    const { rows } = await reports.ask('cohorts', app_id, { ...window, days: '0' })
    expect(rows).toMatchObject([{ installs: 2, d0: 2, d0_rate: 1, d1: 0, d30: 0 }])
  }
})

test('the cohorts report equals a table worked out by hand', async () => {
  const app_id = randomUUID()
  const at = march(1, 10 * hour_ms) // the time of the installs of 1 March
  const event = (install_uuid: string, ts_ms: number) => testEventRow({ app_id, install_uuid, ts_ms })
  const fired = (install_uuid: string, ...after_ms: number[]) => after_ms.map((ms) => event(install_uuid, at + ms))
  await reports.clickhouse.insertEvents(
    [
      // Installed on 1 March at 10:00. D1 is from 2 March 10:00 to 3 March 10:00, and so on.
      ...fired('a', 0, day_ms), //                                       D1: its first millisecond
      ...fired('b', 0, 2 * day_ms - 1), //                               D1: its last millisecond
      ...fired('c', 0, day_ms - 1, 2 * day_ms), //                       1 ms before D1, and 1 ms after it
      ...fired('d', 0, 7 * day_ms, 8 * day_ms - 1, 30 * day_ms), //      D7 and D30
      ...fired('e', 0, 7 * day_ms - 1, 8 * day_ms, 31 * day_ms), //      all beside
      ...fired('f', -7 * day_ms, -1, 0), //                              events before the install
      ...fired('g', day_ms + 5, 31 * day_ms - 1), //                     D1 and D30; no event of the first day
      ...fired('again', 0, day_ms), //                                   a reinstall
      ...fired('waits', 0, day_ms),
      // Two events of 3 March around the end of D1: the day has the end of one window and the begin of the next.
      ...fired('h', 2 * day_ms + 5),
      ...fired('h', 2 * day_ms - 5),
      // The same around its begin, on 2 March.
      ...fired('p', day_ms - 5, day_ms + 5),
      // 2 March, midnight: each window is a UTC day.
      event('i', march(3, -1)),
      event('j', march(3)),
      event('k', march(4, -1)),
      event('l', march(4)),
    ],
    randomUUID(),
  )
  await insertDecisions(app_id, [
    ...[...'abcdefghp'].map((name) => decide(name, at, { partner: 'acme' })),
    decide('a', at), // another verdict is the same install
    decide('again', at, { reinstall: true }),
    decide('waits', at, pending),
    ...[...'ijkl'].map((name) => decide(name, march(2))),
    decide('m', march(4), { reinstall: true }), // a day of reinstalls only has no row
    decide('n', march(5)),
  ])
  await reports.clickhouse.insertEvents(
    [testEventRow({ app_id: randomUUID(), install_uuid: 'n', ts_ms: march(6) })],
    't',
  )
  //  day        installs d1 d7 d30 d1_rate d7_rate d30_rate
  const rows = [
    ['2026-03-01', 9, 5, 1, 2, 0.5556, 0.1111, 0.2222],
    ['2026-03-02', 4, 2, 0, 0, 0.5, 0, 0],
    ['2026-03-05', 1, 0, 0, 0, 0, 0, 0],
  ]
  const ask = async (query: { since_ms: number; until_ms: number; limit?: number; offset?: number }) =>
    (await reports.ask('cohorts', app_id, query)).rows.map((row) => Object.values(row))
  expect(await ask({ since_ms: march(1), until_ms: march(6) })).toEqual(rows)
  expect(await ask({ since_ms: march(1), until_ms: march(6), limit: 1, offset: 1 })).toEqual([rows[1]])
  expect(await ask({ since_ms: at, until_ms: at + 1 })).toEqual([rows[0]])
  expect(await ask({ since_ms: at + 1, until_ms: march(2, 1) })).toEqual([rows[1]])
  expect(await ask({ since_ms: march(3), until_ms: march(4) })).toEqual([])
})

test('filters that the rows of a report lack, and values that no row can have, are refused', async () => {
  const refused = async (name: string, query: Record<string, string[]>) => {
    const answer = await reports.request(name, 'app', query)
    const { error, field } = answer.json()
    return [answer.statusCode, error, field]
  }
  expect(await refused('cohorts', { ad_group: ['g'] })).toEqual([400, 'unknown_parameter', 'ad_group'])
  expect(await refused('revenue', { attribution_type: ['organic'] })).toEqual([
    400,
    'unknown_parameter',
    'attribution_type',
  ])
  expect(await refused('attribution', { event_name: ['x'] })).toEqual([400, 'unknown_parameter', 'event_name'])
  expect(await refused('attribution', { attribution_type: ['clic_id'] })).toEqual([
    400,
    'invalid_field',
    'attribution_type',
  ])
  expect(await refused('attribution', { partner: [''] })).toEqual([400, 'invalid_field', 'partner'])
  expect(await refused('revenue', { partner: ['x'.repeat(65)] })).toEqual([400, 'invalid_field', 'partner'])
})

test('windows in which no install can lie are empty', async () => {
  const max = Number.MAX_SAFE_INTEGER
  for (const name of ['attribution', 'revenue', 'cohorts'] as const) {
    for (const [since_ms, until_ms] of [
      [max - 5, max],
      [-max, -max + 5],
      [-5, 5],
      [4e12, 4e12 + 300 * day_ms],
      [Date.UTC(2099, 11, 31), Date.UTC(2100, 5)],
    ] as const) {
      expect((await reports.ask(name, randomUUID(), { since_ms, until_ms })).rows).toEqual([])
    }
  }
})
