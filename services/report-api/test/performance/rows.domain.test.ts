import { expect, test } from 'vitest'
import { type Group, pageOf, totalsOf } from '../../src/performance/rows.ts'

const days = [0, 1, 3, 7, 14, 30, 60, 90, 180, 365]
const groups = Array.from({ length: 10_000 }, (_, n): Group => {
  const money = `${(n * 7919) % 10_007}${'0'.repeat(44)}`
  const counts = { clicks: 5, installs: 3, reinstalls: 0, fraud_flagged: 0, purchases: 2, payers: 1, costs: 1 }
  const lists = { retained: days.map(() => 1), revenues: days.map(() => money) }
  return { day: '2026-01-01', campaign: `c${n}`, ...counts, revenue: money, cost: `1${'0'.repeat(46)}`, ...lists }
})
const shown = { by: ['campaign'] as const, group: 'day' as const, days, hasClicks: true, hasCosts: true, offset: 0 }
const timed = <Result>(work: () => Result) => {
  const before = performance.now()
  const result = work()
  return { result, ms: performance.now() - before }
}

test('the order by one figure works out that figure alone: a hundred thousand groups must not hold up a process', () => {
  const all = { ...shown, sort: undefined, limit: groups.length }
  pageOf(groups, all)
  const rows = timed(() => pageOf(groups, all))
  const first = timed(() => pageOf(groups, { ...shown, sort: '-d365_roas', limit: 1 }))
  const greatest = Math.max(...rows.result.map((row) => Reflect.get(row, 'd365_roas') as number))
  expect(first.result).toMatchObject([{ d365_roas: greatest }])
  expect(first.ms).toBeLessThan(rows.ms / 2)
  expect(totalsOf(groups, all).installs).toBe(30_000)
})
