import { randomUUID } from 'node:crypto'
import type { ReportName } from '@tributary/contracts/reports'
import { insertInstalls, installRows, type TestDecision } from '@tributary/testing/engines/insert-verdicts'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openReports, type Reports } from './report-stage.ts'

const hour_ms = 3_600_000
const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms
const now_ms = march(4, 12 * hour_ms)
const window = { since_ms: march(1, 6 * hour_ms), until_ms: now_ms }
const names = ['events', 'revenue', 'ltv'] as const satisfies ReportName[]

let reports: Reports
beforeAll(async () => {
  reports = await openReports({ rateOf: () => null, now: () => now_ms })
})
afterAll(() => reports.close())

/** An install at a time, an event of it and a payment. */
async function write(app_id: string, at_ms: number) {
  const install_uuid = randomUUID()
  const of_install = { app_id, install_uuid, ts_ms: at_ms }
  const money = { event_name: 'purchase', revenue_micros: '5000000', currency: 'USD' }
  const facts = { reinstall: false, flagged: false, pending: false }
  const decision: TestDecision = {
    install_uuid,
    installed_at_ms: at_ms,
    partner: 'organic',
    attribution_type: 'organic',
    ...facts,
  }
  await reports.clickhouse.insertEvents(
    [testEventRow(of_install), testEventRow({ ...of_install, ...money })],
    randomUUID(),
  )
  await insertInstalls(reports.clickhouse, installRows(app_id, [decision]), randomUUID())
}

const rowsOf = async (name: ReportName, app_id: string) => (await reports.ask(name, app_id, window)).rows

/** The rows of a report, while `write` runs before the n-th statement of it; null when it has fewer statements. */
async function rowsWhile(name: ReportName, app_id: string, n: number, write: () => Promise<void>) {
  const { clickhouse } = reports
  const { query } = clickhouse
  let at = 0
  clickhouse.query = async (...given: Parameters<typeof query>) => {
    if (at++ === n) await write()
    return query(...given) as never
  }
  try {
    const rows = await rowsOf(name, app_id)
    return at > n ? rows : null
  } finally {
    clickhouse.query = query
  }
}

describe.each(names)('%s until now', (name) => {
  test('has all of today, and nothing that is dated at its end or later', async () => {
    const app_id = randomUUID()
    for (const at_ms of [march(2), march(4), now_ms - 1]) await write(app_id, at_ms)
    const rows = await rowsOf(name, app_id)
    expect(rows.map(({ day }) => day)).toContain('2026-03-04')
    // A clock may be ahead.
    await write(app_id, now_ms)
    expect(await rowsOf(name, app_id)).toEqual(rows)
    await write(app_id, march(5) - 1)
    expect(await rowsOf(name, app_id)).toEqual(rows)
  })

  test('has nothing of what is dated so and comes while it is read, at whatever statement', async () => {
    let n = 0
    for (; ; n += 1) {
      const app_id = randomUUID()
      for (const at_ms of [march(2), march(4), now_ms - 1]) await write(app_id, at_ms)
      const before = await rowsOf(name, app_id)
      const rows = await rowsWhile(name, app_id, n, () => write(app_id, now_ms + n))
      if (rows === null) break
      expect(rows, `before statement ${n}`).toEqual(before)
    }
    expect(n).toBeGreaterThan(3)
  })
})
