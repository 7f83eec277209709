import { randomUUID } from 'node:crypto'
import { InstallRecord } from '@tributary/contracts/install-record'
import { hour_ms, limits } from '@tributary/contracts/limits'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openReports, type Reports } from '../report-stage.ts'
import { first_ms, type JudgedEvent, read_at_ms, writeJudged } from './judged-money.ts'

let reports: Reports
beforeAll(async () => {
  reports = await openReports({ rateOf: () => null, now: () => read_at_ms })
})
afterAll(() => reports.close())

const paid = (install_uuid: string, given: Partial<JudgedEvent>): JudgedEvent => ({
  ...{ at_ms: 0, event_name: 'purchase', install_uuid, micros: 5_000_000n, currency: 'USD', money: 'stated' },
  receipt: { store: 'apple', verdict: 'valid', reason: null },
  ...given,
})
const byStore = { counts: 1, micros: 4_000_000n, currency: 'EUR', reused: 0 } as const
const reused = { counts: 0, micros: 0n, currency: 'USD', reused: 1 } as const

async function recordOf(app_id: string, install_uuid: string) {
  const headers = { authorization: `Bearer ${app_id}` }
  const answer = await reports.app.inject({ url: `/api/v1/installs/${install_uuid}`, headers })
  expect(answer.statusCode, answer.body).toBe(200)
  return InstallRecord.strict().parse(answer.json())
}

test('an install has its receipts in the order of event times, each with its newest verdict and who named the amount', async () => {
  const [app_id, install_uuid] = [randomUUID(), randomUUID()]
  const ids = { product_id: 'pro', transaction_id: 'GPA.1' }
  await writeJudged(reports.clickhouse, app_id, [
    paid(install_uuid, { at_ms: 3 * hour_ms, money: reused }),
    paid(install_uuid, {
      at_ms: 26 * hour_ms,
      receipt: { store: 'google', verdict: 'valid', reason: null, ...ids },
      money: byStore,
    }),
    paid(install_uuid, {
      at_ms: hour_ms,
      receipt: { store: '', verdict: 'invalid', reason: 'malformed' },
      money: 'cancelled',
    }),
    paid(install_uuid, {
      at_ms: 2 * hour_ms,
      receipt: { store: 'apple', verdict: 'unverified', reason: 'store_away' },
    }),
    paid(install_uuid, { at_ms: 4 * hour_ms, micros: null }),
    paid(install_uuid, { receipt: null }), //        without a receipt
    paid(randomUUID(), {}), //                       of another install
  ])
  await writeJudged(reports.clickhouse, randomUUID(), [paid(install_uuid, {})]) // of another app
  const none = { product_id: null, transaction_id: null }
  const judged = (at_ms: number) => ({ judged_at_ms: first_ms + at_ms + 2 }) // by the second decision
  expect((await recordOf(app_id, install_uuid)).receipts).toEqual([
    { store: null, ...none, verdict: 'invalid', reason: 'malformed', price_source: null, ...judged(hour_ms) },
    {
      store: 'apple',
      ...none,
      verdict: 'unverified',
      reason: 'store_away',
      price_source: 'event',
      ...judged(2 * hour_ms),
    },
    { store: 'apple', ...none, verdict: 'valid', reason: 'reused', price_source: null, ...judged(3 * hour_ms) },
    { store: 'apple', ...none, verdict: 'valid', reason: null, price_source: null, ...judged(4 * hour_ms) },
    { store: 'google', ...ids, verdict: 'valid', reason: null, price_source: 'store', ...judged(26 * hour_ms) },
  ])
})

test('an install with more receipts than a record may have shows the newest, and says that earlier ones are left out', async () => {
  const [app_id, install_uuid] = [randomUUID(), randomUUID()]
  const count = limits.install_receipts_max + 1
  await writeJudged(
    reports.clickhouse,
    app_id,
    Array.from({ length: count }, (_, at_ms) => paid(install_uuid, { at_ms })),
  )
  const { receipts, receipts_cut } = await recordOf(app_id, install_uuid)
  expect(receipts_cut).toBe(true)
  expect(receipts).toHaveLength(limits.install_receipts_max)
  expect(receipts[0]).toMatchObject({ judged_at_ms: first_ms + 1 + 2 })
  expect(receipts.at(-1)).toMatchObject({ judged_at_ms: first_ms + count - 1 + 2 })
})
