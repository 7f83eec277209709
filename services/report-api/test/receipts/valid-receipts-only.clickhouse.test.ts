import { randomUUID } from 'node:crypto'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { createSettler } from '@tributary/tables/settled/settler'
import { insertInstalls, installRows, type TestDecision } from '@tributary/testing/engines/insert-verdicts'
import { expectedReports } from '@tributary/testing/oracle/expected-reports'
import { eurRates } from '@tributary/testing/oracle/history'
import type { Question } from '@tributary/testing/oracle/question'
import { roundsOf } from '@tributary/testing/rounds'
import * as fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openReports, type Reports } from '../report-stage.ts'
import {
  event_days,
  first_ms,
  type JudgedEvent,
  judgedEvent,
  rates,
  read_at_ms,
  sentWithCounted,
  writeJudged,
} from './judged-money.ts'

let reports: Reports
let settle: ReturnType<typeof createSettler>
beforeAll(async () => {
  reports = await openReports({ rateOf: eurRates(rates), now: () => read_at_ms })
  settle = createSettler({ clickhouse: reports.clickhouse, logger: pino({ level: 'silent' }) })
})
afterAll(() => reports.close())

/** Installs of two partners on two days, a reinstall among them; `e` has no verdict. */
const decisions: TestDecision[] = ['a', 'b', 'c', 'd'].map((install_uuid, n) => ({
  ...{ install_uuid, installed_at_ms: first_ms + Math.floor(n / 2) * day_ms + n * 5 * hour_ms },
  ...{ partner: n % 2 === 0 ? 'acme' : 'zen', attribution_type: 'install_referrer', campaign: n === 1 ? 'spring' : '' },
  ...{ reinstall: n === 3, flagged: false, pending: false, country: n === 0 ? 'DE' : '' },
}))

const whole = { since_ms: first_ms, until_ms: first_ms + event_days * day_ms }
const parts = { since_ms: first_ms + 3 * hour_ms, until_ms: first_ms + 4 * day_ms + 7 * hour_ms }
const names = ['events', 'revenue', 'ltv', 'performance'] as const
const questions: readonly Question[] = [
  whole,
  parts,
  { ...whole, group: 'month' },
  { ...parts, partner: ['acme'], country: ['DE', ''] },
]
const questionOf = (name: (typeof names)[number], { country, partner, ...question }: Question): Question =>
  name === 'events' ? question : { ...question, ...(country && { country }), ...(partner && { partner }) }

async function findAll(app_id: string, asked: readonly Question[]) {
  const answers = []
  for (const name of names) {
    for (const question of asked) {
      const { rows, meta } = await reports.ask(name, app_id, { ...questionOf(name, question), limit: 1000 } as never)
      answers.push({ name, question, rows, missing_rates: meta.missing_rates ?? [] })
    }
  }
  return answers
}

function expectedAll(
  events: readonly JudgedEvent[],
  asked: readonly Question[],
  only: (event: JudgedEvent) => boolean,
) {
  const history = {
    events: sentWithCounted(events, only),
    decisions: decisions.map((decision) => ({ app: 0, ...decision })),
  }
  const expected = expectedReports(history, 0, rates)
  return names.flatMap((name) =>
    asked.map((question) => {
      const { rows, missing_rates } = expected[name](questionOf(name, question))
      return { name, question, rows, missing_rates }
    }),
  )
}

const isNotUnverified = ({ receipt }: JudgedEvent): boolean => receipt?.verdict !== 'unverified'

test('every report of money follows the setting on whole days and parts, settled or not, and follows it back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(judgedEvent, { minLength: 20, maxLength: 60 }), async (events) => {
      const app_id = randomUUID()
      await writeJudged(reports.clickhouse, app_id, events)
      await insertInstalls(reports.clickhouse, installRows(app_id, decisions), randomUUID())
      const all = expectedAll(events, questions, () => true)
      const without_unverified = expectedAll(events, questions, isNotUnverified)
      const setTo = (valid_receipts_only: boolean) => reports.storeApps.add({ app_id, valid_receipts_only })
      for (const isSettled of [false, true]) {
        if (isSettled) expect(await settle({ quiet_ms: 0 })).not.toMatchObject({ settled: 0 })
        setTo(true)
        expect(await findAll(app_id, questions), `settled: ${isSettled}`).toEqual(without_unverified)
        setTo(false)
        expect(await findAll(app_id, questions), `settled: ${isSettled}`).toEqual(all)
      }
    }),
    { numRuns: roundsOf(2), endOnFailure: true },
  )
})

test('the report of receipts counts no money of unverified ones then, and states it as before', async () => {
  const app_id = randomUUID()
  const paid = { at_ms: 5, event_name: 'purchase', install_uuid: 'a', micros: 5_000_000n, currency: 'USD' }
  const unverified = { store: 'apple', verdict: 'unverified', reason: 'no_credentials' } as const
  await writeJudged(reports.clickhouse, app_id, [
    { ...paid, receipt: unverified, money: 'stated' },
    { ...paid, receipt: unverified, money: { counts: 1, micros: 3_000_000n, currency: 'USD', reused: 0 } },
    { ...paid, receipt: { store: 'apple', verdict: 'valid', reason: null }, money: 'stated' },
    { ...paid, receipt: null, money: 'stated' },
  ])
  await insertInstalls(reports.clickhouse, installRows(app_id, decisions), randomUUID())
  await settle({ quiet_ms: 0 })
  const moneyOf = async () => {
    const { rows } = await reports.ask('receipts', app_id, whole)
    const [revenue] = (await reports.ask('revenue', app_id, whole)).rows
    return { revenue, receipts: rows.map((row) => [row.verdict, row.revenue_told_usd, row.revenue_counted_usd]) }
  }
  const row = { day: '2026-03-01', partner: 'acme' }
  const off = {
    revenue: { ...row, purchases: 4, revenue_usd: 18, arppu_usd: 18 },
    receipts: [
      ['unverified', 10, 8],
      ['valid', 5, 5],
    ],
  }
  expect(await moneyOf()).toEqual(off)
  reports.storeApps.add({ app_id, valid_receipts_only: true })
  expect(await moneyOf()).toEqual({
    revenue: { ...row, purchases: 2, revenue_usd: 10, arppu_usd: 10 },
    receipts: [
      ['unverified', 10, 0],
      ['valid', 5, 5],
    ],
  })
  reports.storeApps.add({ app_id, valid_receipts_only: false })
  expect(await moneyOf()).toEqual(off)
})
