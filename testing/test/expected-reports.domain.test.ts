import { day_ms, hour_ms } from '@tributary/contracts/limits'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { afterErasure } from '../oracle/erased.ts'
import { expectedReports } from '../oracle/expected-reports.ts'
import type { DecidedInstall, History, Rate, SentEvent } from '../oracle/history.ts'
import type { Question } from '../oracle/question.ts'
import { first_ms, now_ms, randomHistory, randomRates } from '../oracle/random-history.ts'

/*
 * Worked out by hand. Two installs on 1 March: `a` of acme at 06:00, `b` organic at 07:00; `c` of acme on 2 March is a reinstall, and
 * `d` waits for a click. One EUR is 1.1 USD from 2 March on, and has no rate before.
 */
const march = (day: number, hour = 0) => Date.UTC(2026, 2, day) + hour * hour_ms
const rates: Rate[] = [{ currency: 'EUR', day: '2026-03-02', usd_e5: 110_000, units_e5: 100_000 }]

const event = (install_uuid: string, event_id: string, event_ts_ms: number, more: Partial<SentEvent> = {}) => ({
  ...{ app: 0, install_uuid, partition: 0, source: 'sdk' as const, received_at_ms: march(9), event_id, event_ts_ms },
  ...{ event_name: 'open', revenue: null, currency: null, transaction_id: null },
  ...more,
})
const paid = (revenue: number, transaction_id: string | null, more: Partial<SentEvent> = {}) => ({
  ...{ event_name: 'purchase', revenue, transaction_id },
  ...more,
})
const decided = (
  install_uuid: string,
  installed_at_ms: number,
  partner: string,
  more: Partial<DecidedInstall> = {},
) => ({
  ...{ app: 0, install_uuid, installed_at_ms, partner, reinstall: false, flagged: false, pending: false },
  attribution_type: partner === 'organic' ? 'organic' : 'click_id',
  ...more,
})

const history: History = {
  events: [
    event('a', 'i', march(1, 6), { event_name: 'app_install' }),
    event('a', 'j', march(4, 6), { event_name: 'app_install' }), //          an install of ever: no second one
    event('a', '1', march(2, 6)), //                                         day 1 of `a` begins here
    event('a', '1', march(3, 6)), //                                         the same id on the next day: the same event
    event('a', '1', march(4, 6)), //                                         two days from the one that counts: another
    event('b', '1', march(2, 7) - 1), //                                     a millisecond before its day 1
    event('b', '2', march(1, 8), paid(5, 't', { currency: 'eur' })), //      the SDK says so first, but no rate yet
    event('b', '3', march(2, 8), paid(2, 't', { source: 's2s' })), //        its backend is believed
    event('a', '4', march(2, 9), paid(10, 'u', { currency: 'EUR' })), //     11 USD
    event('a', '5', march(2, 10), paid(4, null, { event_name: 'purchase_refunded' })),
    event('a', '6', march(1, 5), paid(3, null)), //                          an hour before its install
  ],
  decisions: [
    decided('a', march(1, 6), 'zen'),
    decided('a', march(1, 6), 'acme', { flagged: true }), //                 the newest verdict counts
    decided('b', march(1, 7), 'organic'),
    decided('c', march(2), 'acme', { reinstall: true }),
    decided('d', march(2), '', { pending: true }),
  ],
}
const window = { since_ms: march(1), until_ms: march(5) }
const reports = expectedReports(history, 0, rates)

test('events count once, and their money at the rate of their day', () => {
  const { rows, missing_rates } = reports.events(window)
  const lines = rows.map((row) => [row.day, row.event_name, row.events, row.unique_installs, row.revenue_usd])
  expect(lines).toEqual([
    ['2026-03-01', 'app_install', 1, 1, 0],
    ['2026-03-01', 'purchase', 2, 2, 3],
    ['2026-03-02', 'open', 2, 2, 0],
    ['2026-03-02', 'purchase', 2, 2, 13],
    ['2026-03-02', 'purchase_refunded', 1, 1, -4],
    ['2026-03-04', 'open', 1, 1, 0],
  ])
  expect(missing_rates).toEqual([])
})

test('money belongs to the partner of the newest verdict', () => {
  expect(reports.revenue({ ...window, group: 'month' }).rows).toEqual([
    { day: '2026-03-01', partner: 'acme', purchases: 2, revenue_usd: 10, arppu_usd: 10 },
    { day: '2026-03-01', partner: 'organic', purchases: 1, revenue_usd: 2, arppu_usd: 2 },
  ])
})

test('installs count by their newest verdict, reinstalls apart, and none that waits', () => {
  const lines = reports.attribution(window).rows.map((row) => Object.values(row))
  expect(lines).toEqual([
    ['2026-03-01', 'acme', 'click_id', 1, 0, 0, 1],
    ['2026-03-01', 'organic', 'organic', 1, 1, 0, 0],
    ['2026-03-02', 'acme', 'click_id', 0, 0, 1, 0],
  ])
})

test('day 1 is the second 24 hours of an install, and money before it is none of its', () => {
  expect(reports.cohorts(window).rows).toMatchObject([{ day: '2026-03-01', installs: 2, d1: 2, d7: 0, d1_rate: 1 }])
  const until = { ...window, days: [0, 1] }
  expect(reports.ltv(until).rows).toEqual([
    {
      ...{ day: '2026-03-01', partner: 'acme', installs: 1, revenue_usd: 7 },
      ...{ d0_revenue_usd: 0, d0_arpi_usd: 0, d1_revenue_usd: 7, d1_arpi_usd: 7 },
    },
    {
      ...{ day: '2026-03-01', partner: 'organic', installs: 1, revenue_usd: 2 },
      ...{ d0_revenue_usd: 0, d0_arpi_usd: 0, d1_revenue_usd: 2, d1_arpi_usd: 2 },
    },
  ])
  const early = expectedReports({ ...history, events: [event('b', '9', march(2, 7) - 1)] }, 0, rates)
  expect(early.cohorts(window).rows).toMatchObject([{ installs: 2, d1: 0 }])
})

test('performance is what installs of the period brought, with the clicks and costs of it', () => {
  const clicks = [
    { app: 0, click_id: '1', clicked_at_ms: march(1), partner: 'acme', campaign: 'c', filtered: false },
    { app: 0, click_id: '1', clicked_at_ms: march(1), partner: 'acme', campaign: 'c', filtered: false },
    { app: 0, click_id: '2', clicked_at_ms: march(1), partner: 'acme', filtered: true },
    { app: 0, click_id: '3', clicked_at_ms: march(6), partner: 'acme', filtered: false }, // behind the window
  ]
  const spent = { app: 0, day: '2026-03-02', partner: 'acme', campaign: 'c', currency: 'EUR', as_of_ms: 1 }
  const costs = [
    { ...spent, cost: 2 }, // 2.20 USD
    { ...spent, cost: 9, as_of_ms: 0 }, // older
    { ...spent, campaign: '', currency: 'USD', cost: 5 },
    { ...spent, country: 'DE', cost: 0 }, // taken out
  ]
  const { performance } = expectedReports({ ...history, clicks, costs }, 0, rates)
  const lines = (question: Partial<Question>) =>
    performance({ since_ms: march(1, 9), until_ms: march(4, 9), ...question }).rows.map((row) => Object.values(row))
  // clicks, installs, reinstalls, flagged, purchases, payers, revenue, cost, cpi, roas
  expect(lines({ by: ['partner'], group: 'month' })).toEqual([
    ['2026-03-01', 'acme', 1, 1, 1, 1, 1, 1, 7, 7.2, 7.2, 0.9722],
    ['2026-03-01', 'organic', 0, 1, 0, 0, 1, 1, 2, null, null, null],
  ])
  expect(lines({ by: ['campaign'], group: 'none', sort: '-cost_usd', partner: ['acme'] })).toEqual([
    ['*', 0, 0, 0, 0, 0, 0, 0, 5, null, 0],
    ['c', 1, 0, 0, 0, 0, 0, 0, 2.2, null, 0],
    ['', 0, 1, 1, 1, 1, 1, 7, null, null, null],
  ])
  expect(performance({ ...window, by: ['creative'] }).totals).toMatchObject({ clicks: 1, installs: 2, cost_usd: null })
  expect(performance({ ...window, by: ['sub1'] }).totals).toMatchObject({ clicks: null })
})

test('performance by partner alone says what attribution, cohorts and ltv say', () => {
  const property = fc.property(randomHistory, randomRates, (given, at) => {
    const of = expectedReports(given, 0, at)
    const asked = { since_ms: first_ms - 5 * day_ms, until_ms: now_ms, group: 'week' as const, days: [0, 1, 7, 30] }
    const [ltv, attribution, cohorts] = [of.ltv(asked), of.attribution(asked), of.cohorts(asked)]
    const rows = of.performance({ ...asked, by: ['partner'] }).rows
    const few = of.performance({ ...asked, by: [] }).rows
    const figures = (row: Record<string, unknown>) => [
      row.day,
      row.partner,
      row.installs,
      row.revenue_usd,
      row.d0_revenue_usd,
      row.d7_revenue_usd,
    ]
    expect(rows.filter(({ installs }) => installs !== 0).map(figures)).toEqual(ltv.rows.map(figures))
    const sum = (of_rows: typeof rows, field: string) => of_rows.reduce((total, row) => total + Number(row[field]), 0)
    for (const field of ['installs', 'reinstalls', 'fraud_flagged'])
      expect(sum(rows, field)).toBe(sum(attribution.rows, field))
    const came = (row: Record<string, unknown>, suffix: string) => [
      row.day,
      row.installs,
      row[`d1${suffix}`],
      row[`d30${suffix}`],
      row.d7_rate,
    ]
    expect(few.filter(({ installs }) => installs !== 0).map((row) => came(row, '_retained'))).toEqual(
      cohorts.rows.map((row) => came(row, '')),
    )
  })
  fc.assert(property, { numRuns: 30 })
})

test('an age is counted on the clock of the install where the SDK tells its own', () => {
  const slow = event('a', '1', march(1, 6) + day_ms - hour_ms, { skew_ms: hour_ms })
  const { rows } = expectedReports({ ...history, events: [slow] }, 0, rates).cohorts(window)
  expect(rows).toMatchObject([{ d1: 1 }])
})

test('money that an erased install had counts for nobody any more', () => {
  const both = { ...history, events: [...history.events, event('a', '7', march(2), paid(2, 't'))] }
  const left = afterErasure(both, ({ install_uuid }) => install_uuid === 'b')
  expect(left.events.some(({ install_uuid }) => install_uuid === 'b')).toBe(false)
  expect(expectedReports(left, 0, rates).revenue({ ...window, group: 'month' }).rows).toMatchObject([
    { partner: 'acme', revenue_usd: 10 },
  ])
})
