import { randomUUID } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import { reportNames } from '@tributary/contracts/reports'
import type { EventRow } from '@tributary/contracts/rows'
import { settledTables } from '@tributary/contracts/tables'
import { bumpMoneyDays } from '@tributary/settled/bump-stamps'
import { createSettler } from '@tributary/settled/settler'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { insertInstalls, installRows, type TestDecision } from '@tributary/testing/oracle/insert-verdicts'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openReports, type Query, type Reports } from './report-stage.ts'

const hour_ms = 3600 * 1000
const first_ms = Date.UTC(2026, 1, 23)
const app_id = randomUUID()
const rates: Record<string, [from: string, usd: string]> = { EUR: ['2026-03-04', '1.1'], GBP: ['2026-01-01', '1.3'] }

let reports: Reports
let settle: () => Promise<number>
beforeAll(async () => {
  const rateOf = ({ day, currency }: { day: string; currency: string }) => {
    const [from, usd] = rates[currency] ?? ['9', '']
    return day >= from ? { usd, units: '0.7' } : null
  }
  reports = await openReports({ rateOf, now: () => first_ms + 40 * day_ms })
  const settler = createSettler({ clickhouse: reports.clickhouse, logger: pino({ level: 'silent' }) })
  settle = async () => (await settler({ quiet_ms: 0 })).settled
})
afterAll(() => reports.close())

const installedAt = (n: number) => first_ms + (n % 9) * day_ms + ((n * 5) % 24) * hour_ms
const decide = (n: number, given: Partial<TestDecision> = {}): TestDecision => {
  const partner = ['organic', 'acme', 'zen'][n % 3]!
  const attribution_type = partner === 'organic' ? 'organic' : 'click_id'
  const facts = { reinstall: n % 7 === 3, flagged: n % 5 === 0, pending: false }
  return { install_uuid: `i${n}`, installed_at_ms: installedAt(n), partner, attribution_type, ...facts, ...given }
}
const event = (n: number, after_ms: number, more: Partial<EventRow> = {}) =>
  testEventRow({ app_id, install_uuid: `i${n}`, ts_ms: installedAt(n) + after_ms, event_name: 'open', ...more })
const pay = (n: number, after_ms: number, micros: number, currency: string, event_name = 'purchase') =>
  event(n, after_ms, { event_name, revenue_micros: `${micros}`, currency })

/** Thirty installs of nine days, with events and money of three weeks, some of it before the install. */
const history = Array.from({ length: 30 }, (_, n) =>
  [0, 1, 2, 3, 7, 8, 14].flatMap((day, k) => [
    event(n, day * day_ms + ((n * k) % 30) * hour_ms - hour_ms),
    ...((n + k) % 4 === 0
      ? [pay(n, day * day_ms - hour_ms + n, (n + 1) * 990_001, ['USD', 'EUR', 'GBP', 'XXX'][k % 4]!)]
      : []),
    ...((n + k) % 9 === 0 ? [pay(n, day * day_ms + hour_ms, -450_000, 'EUR', 'purchase_refunded')] : []),
  ]),
).flat()

const whole = { since_ms: first_ms, until_ms: first_ms + 30 * day_ms }
const part = { since_ms: first_ms + 7 * hour_ms, until_ms: first_ms + 6 * day_ms + 11 * hour_ms }
const queries: Query[] = [whole, { ...part, group: 'week' }]
const ofOne: Record<string, Query[]> = {
  attribution: [{ ...part, partner: ['zen'] }],
  revenue: [{ ...part, partner: ['acme'] }],
  cohorts: [{ ...part, days: '0,2,3,14' }],
  events: [{ ...part, event_name: ['purchase'], limit: 4, offset: 2 }],
  ltv: [{ ...part, partner: ['acme'], days: '0,1,14' }],
}

async function askAll(): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  for (const name of reportNames) {
    for (const query of [...queries, ...(ofOne[name] ?? [])]) {
      const { rows, meta } = await reports.ask(name, app_id, query)
      answers[`${name} ${JSON.stringify(query)}`] = { rows, missing_rates: meta.missing_rates }
    }
  }
  return answers
}

/** Forgets every settled figure, so that reports are worked out live. */
async function forget(): Promise<void> {
  for (const table of settledTables) await reports.clickhouse.command(`TRUNCATE TABLE ${table}`)
}

/** A verdict, in place of an earlier one of the same install. */
async function decideAgain(earlier: TestDecision, next: TestDecision): Promise<void> {
  const [, ...rows] = installRows(app_id, [earlier, next], 100 * (Number(earlier.install_uuid.slice(1)) + 1))
  await insertInstalls(reports.clickhouse, rows, randomUUID())
  await bumpMoneyDays(reports.clickhouse, [{ app_id, install_uuid: earlier.install_uuid }])
}
const write = (...rows: EventRow[]) => reports.clickhouse.insertEvents(rows, randomUUID())

test('after each change the reports are those that are worked out live, whatever is settled', async () => {
  await write(...history)
  const decisions = Array.from({ length: 30 }, (_, n) => decide(n))
  await insertInstalls(reports.clickhouse, installRows(app_id, decisions), randomUUID())
  const paid = history.find(({ revenue_micros, currency }) => revenue_micros !== null && currency === 'USD')!
  const waiting = { pending: true, partner: '', attribution_type: '' }
  const changes: Record<string, () => Promise<unknown>> = {
    nothing: async () => {},
    'a late event': () => write(event(4, 14 * day_ms + 3 * hour_ms)),
    'a late purchase and a refund': () =>
      write(pay(5, day_ms, 12_345_678, 'GBP'), pay(7, 2 * day_ms, -1_000_000, 'EUR', 'purchase_refunded')),
    'money that does not count, and a rate': () => {
      rates.XXX = ['2026-01-01', '2']
      return reports.cancel([paid])
    },
    'another partner': () => decideAgain(decide(1), decide(1, { partner: 'new' })),
    'an install that waits': () => decideAgain(decide(8), decide(8, waiting)),
    'another install time': () => decideAgain(decide(6), decide(6, { installed_at_ms: installedAt(6) - day_ms })),
  }
  const seen = new Set<string>()
  for (const [change, make] of Object.entries(changes)) {
    expect(await settle(), change).toBeGreaterThan(0)
    expect(await settle(), change).toBe(0)
    await make()
    const found = await askAll()
    await forget()
    const live = await askAll()
    expect(found, change).toEqual(live)
    seen.add(JSON.stringify(live))
  }
  // Each change is seen.
  expect(seen.size).toBe(Object.keys(changes).length)
}, 300_000)
