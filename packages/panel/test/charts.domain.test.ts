import { expect, it } from 'vitest'
import { maturityOf } from '../src/api/maturity.ts'
import { before, day_ms, daysOf, windowOf } from '../src/api/range.ts'
import { overallRate } from '../src/pages/cohorts/chart.ts'
import { storedOf } from '../src/pages/costs/chart.ts'
import { clicksByPeriod } from '../src/pages/links/chart.ts'
import { costPerInstall, curvesOf, returnsOf } from '../src/pages/ltv/chart.ts'
import { byDay } from '../src/pages/overview/chart.ts'
import { linesOf } from '../src/pages/performance/chart.ts'
import { costBefore, daysWithoutCost, type PartnerDay, paidOf } from '../src/parts/figure/paid.ts'
import { topLines } from '../src/parts/figure/top-lines.ts'
import { parseViews } from '../src/shell/saved-view.ts'

const at = (day: string) => Date.parse(`${day}T00:00:00Z`)
const row = (day: string, partner: string, installs: number, revenue_usd: number, cost_usd: number | null) =>
  ({ day, partner, installs, revenue_usd, cost_usd, clicks: 10, payers: 1, purchases: 1 }) as unknown as PartnerDay

it('divides the revenue of partners with cost by that cost, and leaves partners without any out', () => {
  const rows = [
    row('2026-03-01', 'acme', 10, 30, 20),
    row('2026-03-02', 'acme', 10, 20, null),
    row('2026-03-01', 'organic', 50, 900, null),
  ]
  expect(paidOf(rows)).toMatchObject({
    partners: 1,
    installs: 20,
    revenue_usd: 50,
    cost_usd: 20,
    roas: 2.5,
    cpi_usd: 1,
  })
  expect(paidOf([rows[2]!])).toBeNull()
  expect(paidOf([row('2026-03-01', 'acme', 0, 0, 0)])).toMatchObject({ roas: null, cpi_usd: null })
})

it('compares costs of as many days as have them, and counts the days that wait for theirs', () => {
  const window = { since_ms: at('2026-03-08'), until_ms: at('2026-03-15') }
  const now = [
    row('2026-03-08', 'acme', 1, 1, 5),
    row('2026-03-12', 'acme', 1, 1, 5),
    row('2026-03-13', 'acme', 1, 1, null),
  ]
  const earlier = ['01', '05', '06', '07'].map((day) => row(`2026-03-${day}`, 'acme', 1, 1, 2))
  expect(costBefore(earlier, now, window)).toBe(4)
  expect(costBefore([], now, window)).toBeNull()
  expect(costBefore(earlier, [row('2026-03-08', 'acme', 1, 1, null)], window)).toBeNull()
  expect(daysWithoutCost(now, window, at('2026-03-14') + 1)).toBe(2)
  expect(daysWithoutCost(now, window, at('2026-04-01'))).toBe(2)
  expect(daysWithoutCost([], window, at('2026-03-14'))).toBe(0)
})

it('takes a day as over only when it is for the last install of the period', () => {
  const until_ms = at('2026-03-15')
  expect(maturityOf('2026-03-01', 'day', 7, at('2026-03-07') + day_ms - 1, until_ms)).toBe('not yet')
  expect(maturityOf('2026-03-01', 'day', 7, at('2026-03-09'), until_ms)).toBe('immature')
  expect(maturityOf('2026-03-01', 'day', 7, at('2026-03-10'), until_ms)).toBe('mature')
  expect(maturityOf('2026-03-02', 'week', 0, at('2026-03-09'), until_ms)).toBe('immature')
  expect(maturityOf('2026-03-01', 'none', 0, at('2026-03-16'), until_ms)).toBe('mature')
})

it('ends presets at the next midnight, takes the period before of the same length, and ignores dates that are none', () => {
  const now_ms = at('2026-03-14') + 5
  const week = windowOf({ range: '7d' }, now_ms)
  expect(week).toEqual({ since_ms: at('2026-03-08'), until_ms: at('2026-03-15') })
  expect(before(week)).toEqual({ since_ms: at('2026-03-01'), until_ms: at('2026-03-08') })
  expect(daysOf(windowOf({ from: '2026-03-01', to: '2026-03-02' }, now_ms))).toEqual(['2026-03-01', '2026-03-02'])
  for (const words of [{ from: '2026-02-30', to: 'x' }, { from: '2026-03-02', to: '2026-03-01' }, { range: '8y' }])
    expect(windowOf(words, now_ms)).toEqual(week)
  expect(windowOf({ range: 'month' }, now_ms).since_ms).toBe(at('2026-03-01'))
})

it('tells a day without a row from a day of 0', () => {
  const rows = [
    { day: 'a', value: 1 },
    { day: 'a', value: 2 },
    { day: 'b', value: null },
  ]
  const figures = (absent: 0 | null) => byDay(rows, ['a', 'b', 'c'], ({ value }) => value, absent)
  expect([figures(0), figures(null)]).toEqual([
    [3, 0, 0],
    [3, null, null],
  ])
})

it('draws the largest names and adds up the rest, in any order of rows', () => {
  const rows = 'abcdefgh'.split('').map((name, n) => ({ day: 'd', name, value: n }))
  const names = { nameOf: (one: { name: string }) => one.name, figureOf: (one: { value: number }) => one.value }
  for (const given of [rows, rows.toReversed()]) {
    const { series, points, total } = topLines(given, ['d', 'e'], { ...names, others: 'rest' })
    expect(series.map(({ name }) => name)).toEqual(['h', 'g', 'f', 'e', 'd', 'rest'])
    expect([points[0]?.others, points[1]?.others, total]).toEqual([0 + 1 + 2, 0, 28])
  }
  const six = topLines(rows.slice(0, 6), ['d'], { ...names, others: 'rest' })
  expect(six.series.map(({ name }) => name)).not.toContain('rest')
})

it('shows no click of hours that are to come, and 0 where an hour had none', () => {
  const since_ms = at('2026-03-01')
  const counts = [{ since_ms: since_ms + 3_600_000, clicks: 4, filtered: 1 }]
  const points = clicksByPeriod(counts, { since_ms, until_ms: since_ms + day_ms }, 'hour', since_ms + 3 * 3_600_000)
  expect(points).toEqual([
    { day: '2026-03-01T00:00', clicks: 0, filtered: 0 },
    { day: '2026-03-01T01:00', clicks: 4, filtered: 1 },
    { day: '2026-03-01T02:00', clicks: 0, filtered: 0 },
  ])
})

it('draws value per install of installs whose day is over alone, beside what one of a partner with cost did cost', () => {
  const rows = [
    { day: '2026-03-01', partner: 'acme', installs: 10, d0_revenue_usd: 5, d1_revenue_usd: 20 },
    { day: '2026-03-02', partner: 'acme', installs: 90, d0_revenue_usd: 4, d1_revenue_usd: 5 },
  ]
  const { points, series } = curvesOf(rows, [0, 1, 2], at('2026-03-04'))
  expect(series.map(({ name }) => name)).toEqual(['acme'])
  expect(points).toEqual([
    { day: '0', p0: 9 / 100 },
    { day: '1', p0: 2 },
  ])
  expect(
    costPerInstall([...rows, { day: 'x', partner: 'organic', installs: 9 }], [{ partner: 'acme', cost_usd: 50 }]),
  ).toBe(0.5)
  expect(costPerInstall(rows, [])).toBeNull()
})

it('leaves a day out of a chart until it is over for every install', () => {
  const rows = [
    { day: '2026-03-01', partner: 'acme', d1_rate: 0.5 },
    { day: '2026-03-02', partner: 'acme', d1_rate: 0.1 },
  ]
  const { points } = linesOf({
    ...{ rows: rows as never, values: ['acme'], lineOf: () => 'acme', nameOf: String, figure: 'd1_rate', absent: null },
    ...{ days: ['2026-03-01', '2026-03-02'], group: 'day', now_ms: at('2026-03-04'), until_ms: at('2026-03-05') },
  })
  expect(points).toEqual([
    { day: '2026-03-01', v0: 0.5 },
    { day: '2026-03-02', v0: null },
  ])
})

it('sums what is stored of each partner and currency', () => {
  const cost = (day: string, currency: string, value: number) =>
    ({ day, partner: 'acme', currency, cost: value, cost_usd: value * 2, uploaded_at_ms: at(day) }) as never
  const stored = storedOf([cost('2026-03-02', 'EUR', 1), cost('2026-03-01', 'EUR', 2), cost('2026-03-01', 'USD', 9)])
  expect(stored.map(({ currency, cost, first, last, days }) => [currency, cost, first, last, days.size])).toEqual([
    ['USD', 9, '2026-03-01', '2026-03-01', 1],
    ['EUR', 3, '2026-03-01', '2026-03-02', 2],
  ])
})

it('tells by which day a partner earned its own cost, that it has not by the last day that is over, and nothing without cost', () => {
  const install = (partner: string, d0: number, d1: number) => ({
    ...{ day: '2026-03-01', partner, installs: 10, d0_revenue_usd: d0, d1_revenue_usd: d1, d7_revenue_usd: 99 },
  })
  const rows = [install('acme', 5, 20), install('dear', 5, 20), install('organic', 9, 9)]
  const costs = [
    { partner: 'acme', cost_usd: 15 },
    { partner: 'dear', cost_usd: 900 },
  ]
  const returns = returnsOf(rows, costs, [0, 1, 7], at('2026-03-04'))
  expect(
    returns.map(({ partner, cpi_usd, earned_by, known_until }) => [partner, cpi_usd, earned_by, known_until]),
  ).toEqual([
    ['acme', 1.5, 1, 1],
    ['dear', 90, null, 1],
    ['organic', null, null, 1],
  ])
  expect(returns[0]?.d7).toBeNull()
})

it('takes a rate over all installs from periods alone that are over for them', () => {
  const rows = [
    { day: '2026-03-01', installs: 10, d1: 5 },
    { day: '2026-03-02', installs: 90, d1: 1 },
  ]
  const rateAt = (day: string) => overallRate(rows, 1, 'day', at(day), at('2026-03-09'))
  expect([rateAt('2026-03-03'), rateAt('2026-03-04'), rateAt('2026-03-05')]).toEqual([null, 0.5, 6 / 100])
})

it('reads as saved views only what is one: a name, and an address of the panel', () => {
  const views = [
    { name: 'mine', address: '/performance?by=country', more: 1 },
    ...[
      { name: 'away', address: '//evil.example' },
      { name: 'no', address: 'javascript:alert(1)' },
      null,
      7,
      { name: 1 },
    ],
  ]
  expect(parseViews(JSON.stringify(views))).toEqual([{ name: 'mine', address: '/performance?by=country' }])
  for (const text of ['', '{', '{}', 'null']) expect(parseViews(text)).toEqual([])
})
