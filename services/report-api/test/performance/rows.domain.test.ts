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
const all = { ...shown, sort: undefined, limit: groups.length }
const timed = async <Result>(work: () => Promise<Result>) => {
  const before = performance.now()
  const result = await work()
  return { result, ms: performance.now() - before }
}

test('the order by one figure works out that figure alone: a hundred thousand groups must not hold up a process', async () => {
  await pageOf(groups, all)
  const rows = await timed(() => pageOf(groups, all))
  const first = await timed(() => pageOf(groups, { ...shown, sort: '-d365_roas', limit: 1 }))
  const greatest = Math.max(...rows.result.map((row) => Reflect.get(row, 'd365_roas') as number))
  expect(first.result).toMatchObject([{ d365_roas: greatest }])
  expect(first.ms).toBeLessThan(rows.ms / 2)
})

test('other requests have their turns while many rows and their totals are made', async () => {
  let turns = 0
  let waiting: NodeJS.Immediate
  const wait = () => {
    turns += 1
    waiting = setImmediate(wait)
  }
  wait()
  const rows = await pageOf(groups, all)
  const of_rows = turns
  const many = Array.from({ length: 10 }, () => groups).flat()
  const totals = await totalsOf(many, all)
  clearImmediate(waiting!)
  expect([rows.length, totals.installs]).toEqual([10_000, 300_000])
  expect([of_rows > 5, turns - of_rows > 5]).toEqual([true, true])
})
