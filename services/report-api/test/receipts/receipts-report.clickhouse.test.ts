import { randomUUID } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import { lacking, type Money, usd } from '@tributary/testing/oracle/counted'
import { eurRates } from '@tributary/testing/oracle/history'
import { grouped, inside, keyOfPeriod } from '@tributary/testing/oracle/question'
import { roundsOf } from '@tributary/testing/rounds'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openReports, type Query, type Reports } from '../report-stage.ts'
import {
  atOrNearMidnight,
  countedOf,
  event_days,
  first_ms,
  type JudgedEvent,
  judgedEvent,
  rates,
  read_at_ms,
  writeJudged,
} from './judged-money.ts'

let reports: Reports
beforeAll(async () => {
  reports = await openReports({ rateOf: eurRates(rates), now: () => read_at_ms })
})
afterAll(() => reports.close())

const whole = { since_ms: first_ms, until_ms: first_ms + event_days * day_ms }
const purchase = (given: Partial<JudgedEvent>): JudgedEvent => ({
  ...{ at_ms: 0, event_name: 'purchase', install_uuid: 'a', micros: 5_000_000n, currency: 'USD', money: 'stated' },
  receipt: { store: 'apple', verdict: 'valid', reason: null },
  ...given,
})
const reused = { counts: 0, micros: 0n, currency: 'USD', reused: 1 } as const

test('the report equals a table worked out by hand', async () => {
  const app_id = randomUUID()
  await writeJudged(reports.clickhouse, app_id, [
    purchase({ at_ms: -1 }), //                                                            1 ms before the window
    purchase({ at_ms: 0 }), //                                                             its first millisecond
    purchase({ money: { counts: 1, micros: 10_000_000n, currency: 'GBP', reused: 0 } }), // the price of the store counts
    purchase({ money: reused }), //                                                        it counts for another install
    purchase({ receipt: { store: 'apple', verdict: 'valid', reason: 'refunded' } }),
    purchase({ receipt: { store: 'google', verdict: 'unverified', reason: 'store_away' } }),
    purchase({ receipt: { store: '', verdict: 'invalid', reason: 'malformed' }, money: 'cancelled' }),
    purchase({ receipt: { store: '', verdict: 'invalid', reason: 'malformed' }, micros: null }),
    purchase({ receipt: null }), //                                                        no receipt: in no row
    purchase({ at_ms: day_ms, currency: 'XXX' }),
    purchase({ at_ms: day_ms, event_name: 'purchase_refunded', micros: -2_000_000n }),
    purchase({ at_ms: event_days * day_ms }), //                                           behind the window
  ])
  const { rows, meta } = await reports.ask('receipts', app_id, whole)
  const columns = ['day', 'store', 'verdict', 'reason', 'events', 'revenue_told_usd', 'revenue_counted_usd']
  expect(Object.keys(rows[0]!)).toEqual(columns)
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['2026-03-01', null, 'invalid', 'malformed', 2, 5, 0],
    ['2026-03-01', 'apple', 'valid', null, 2, 10, 17.9412], // 5, and 10 x 1.1 / 0.85
    ['2026-03-01', 'apple', 'valid', 'refunded', 1, 5, 5],
    ['2026-03-01', 'apple', 'valid', 'reused', 1, 5, 0],
    ['2026-03-01', 'google', 'unverified', 'store_away', 1, 5, 5],
    ['2026-03-02', 'apple', 'valid', null, 2, -2, -2],
  ])
  expect(meta).toMatchObject({ rows: 6, missing_rates: ['XXX'] })
  const filtered = async (query: Query) =>
    (await reports.ask('receipts', app_id, { ...whole, ...query })).rows.map(({ reason, events }) => [reason, events])
  expect(await filtered({ store: '' })).toEqual([['malformed', 2]])
  expect(await filtered({ store: ['', 'google'] })).toEqual([
    ['malformed', 2],
    ['store_away', 1],
  ])
  expect(await filtered({ verdict: 'valid', reason: ['', 'reused'], group: 'month' })).toEqual([
    [null, 4],
    ['reused', 1],
  ])
  const refused = await reports.request('receipts', app_id, { verdict: 'genuine' })
  expect(refused.json()).toMatchObject({ error: 'invalid_field', field: 'verdict' })
})

test('a CSV answer has empty cells where there is no store and no reason', async () => {
  const app_id = randomUUID()
  await writeJudged(reports.clickhouse, app_id, [purchase({ receipt: { store: '', verdict: 'valid', reason: null } })])
  const { body } = await reports.request('receipts', app_id, { ...whole, format: 'csv' })
  expect(body).toBe(
    'day,store,verdict,reason,events,revenue_told_usd,revenue_counted_usd\r\n2026-03-01,,valid,,1,5,5\r\n',
  )
})

/** The report by the words of docs/rules.md#receipts-report. */
function expectedReceipts(
  events: readonly JudgedEvent[],
  question: { since_ms: number; until_ms: number; group?: 'week' },
) {
  const asked = events.filter(({ receipt, at_ms }) => receipt !== null && inside(question, first_ms + at_ms))
  const moneyOf = ({ at_ms }: JudgedEvent, amount: { micros: bigint; currency: string } | null) =>
    amount === null ? [] : [{ ...amount, event_ts_ms: first_ms + at_ms } as Money]
  const statedOf = (event: JudgedEvent) =>
    moneyOf(event, event.micros === null ? null : { micros: event.micros, currency: event.currency })
  const reasonOf = ({ receipt, money }: JudgedEvent) =>
    typeof money === 'object' && money.reused === 1 ? 'reused' : (receipt!.reason ?? '')
  const keyOf = (event: JudgedEvent) => [
    ...[keyOfPeriod(question, first_ms + event.at_ms), event.receipt!.store, event.receipt!.verdict, reasonOf(event)],
  ]
  const counted = (event: JudgedEvent) => moneyOf(event, countedOf(event))
  return {
    rows: grouped(asked, keyOf).map(([[day, store, verdict, reason], group]) => ({
      ...{ day, store: store || null, verdict, reason: reason || null, events: group.length },
      revenue_told_usd: usd(group.flatMap(statedOf), rates),
      revenue_counted_usd: usd(group.flatMap(counted), rates),
    })),
    missing_rates: lacking([...asked.flatMap(statedOf), ...asked.flatMap(counted)], rates),
  }
}

test('any window over any receipts equals the reference, page by page', async () => {
  const someWindow = fc
    .tuple(atOrNearMidnight, atOrNearMidnight)
    .filter(([a, b]) => a !== b)
    .map(([a, b]) => ({ since_ms: first_ms + Math.min(a, b), until_ms: first_ms + Math.max(a, b) }))
  await fc.assert(
    fc.asyncProperty(
      fc.array(judgedEvent, { maxLength: 60 }),
      fc.array(someWindow, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 3, max: 12 }),
      async (events, windows, limit) => {
        const app_id = randomUUID()
        await writeJudged(reports.clickhouse, app_id, events)
        for (const window of [whole, { ...whole, group: 'week' as const }, ...windows]) {
          const expected = expectedReceipts(events, window)
          const rows = []
          for (let offset = 0; offset <= expected.rows.length; offset += limit) {
            const page = await reports.ask('receipts', app_id, { ...window, limit, offset })
            expect(page.meta).toMatchObject({ rows: expected.rows.length })
            expect(page.meta.missing_rates ?? []).toEqual(expected.missing_rates)
            rows.push(...page.rows)
          }
          expect(rows).toEqual(expected.rows)
        }
      },
    ),
    { numRuns: roundsOf(8) },
  )
})
