import { randomUUID } from 'node:crypto'
import type { ReportName } from '@tributary/contracts/reports'
import { createSettler } from '@tributary/tables/settled/settler'
import { insertInstalls, installRows, type TestDecision } from '@tributary/testing/engines/insert-verdicts'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openReports, type Reports } from '../report-stage.ts'

const hour_ms = 3_600_000
const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms
const now_ms = march(4, 12 * hour_ms)
const window = { since_ms: march(1, 6 * hour_ms), until_ms: now_ms }

/** More than any of the reports has statements. */
const statements_max = 10

let reports: Reports
const newApps = () => Array.from({ length: statements_max + 2 }, () => randomUUID())
/** Apps with installs of March 2 and 4. Those of `revenue` were settled before the last one came. */
const apps = { events: newApps(), revenue: newApps(), ltv: newApps() }
beforeAll(async () => {
  reports = await openReports({ rateOf: () => null, now: () => now_ms })
  for (const at_ms of [march(2), march(4)]) await write(apps.revenue, at_ms)
  await settleMoney()
  for (const at_ms of [march(2), march(4)]) await write([...apps.events, ...apps.ltv], at_ms)
  await write(Object.values(apps).flat(), now_ms - 1)
})
afterAll(() => reports.close())

/** Settles the money, and ends with the next figure: others of a day that is not over are live in any case. */
async function settleMoney() {
  const over = new AbortController()
  const settle = createSettler({
    clickhouse: reports.clickhouse,
    logger: pino({ level: 'silent' }),
    onSettled: (figure) => figure !== 'money' && over.abort(),
  })
  await settle({ quiet_ms: 0, from: { figure: 'money', after: null }, signal: over.signal })
}

/** Stores an install of a time in each app, an event of it and a payment of 5 USD. */
async function write(app_ids: readonly string[], at_ms: number) {
  const verdict = { partner: 'organic', attribution_type: 'organic', reinstall: false, flagged: false, pending: false }
  const money = { event_name: 'purchase', revenue_micros: '5000000', currency: 'USD' }
  const all = app_ids.map((app_id) => {
    const install_uuid = randomUUID()
    const of_install = { app_id, install_uuid, ts_ms: at_ms, received_at_ms: at_ms }
    const decision: TestDecision = { install_uuid, installed_at_ms: at_ms, ...verdict }
    const events = [testEventRow({ ...of_install, event_name: 'open' }), testEventRow({ ...of_install, ...money })]
    return { installs: installRows(app_id, [decision]), events }
  })
  await insertInstalls(
    reports.clickhouse,
    all.flatMap(({ installs }) => installs),
    randomUUID(),
  )
  await reports.clickhouse.insertEvents(
    all.flatMap(({ events }) => events),
    randomUUID(),
  )
}

/** The rows of a report with the whole days that it read last, while `arrive` runs before its statement number `n`, from 0. */
async function ask(name: ReportName, app_id: string, n?: number, arrive?: () => Promise<void>) {
  const { clickhouse } = reports
  const { query } = clickhouse
  let sent = 0
  let whole_to: unknown
  clickhouse.query = async (...given: Parameters<typeof query>) => {
    if (sent++ === n) await arrive?.()
    whole_to = (given[1] as { whole_to?: string }).whole_to ?? whole_to
    return query(...given) as never
  }
  try {
    const { rows } = await reports.ask(name, app_id, window)
    return { rows: rows as object[], whole_to, sent }
  } finally {
    clickhouse.query = query
  }
}

/** What each report says of March 4. */
const expected = {
  events: [
    { day: '2026-03-04', event_name: 'open', events: 2, unique_installs: 2, revenue_usd: 0 },
    { day: '2026-03-04', event_name: 'purchase', events: 2, unique_installs: 2, revenue_usd: 10 },
  ],
  revenue: [{ day: '2026-03-04', partner: 'organic', purchases: 2, revenue_usd: 10, arppu_usd: 5 }],
  ltv: [{ day: '2026-03-04', partner: 'organic', installs: 2, revenue_usd: 10, d0_revenue_usd: 10 }],
} satisfies Partial<Record<ReportName, object[]>>

describe.each(Object.keys(expected) as (keyof typeof expected)[])('%s until now', (name) => {
  test('has all of today, read as a whole day, and nothing that is dated at its end or later', async () => {
    const app_id = apps[name].pop()!
    const { rows, whole_to } = await ask(name, app_id)
    expect(rows.slice(-expected[name].length)).toMatchObject(expected[name])
    expect(whole_to).toBe('2026-03-05')
    // A clock may be ahead.
    for (const at_ms of [now_ms, march(5) - 1]) {
      await write([app_id], at_ms)
      expect(await ask(name, app_id)).toMatchObject({ rows, whole_to: '2026-03-04' })
    }
  })

  test('has nothing of what is dated so and comes while it is read, at whatever statement', async () => {
    const { rows, sent } = await ask(name, apps[name].pop()!)
    expect(sent).toBeLessThanOrEqual(statements_max)
    for (let n = 0; n < sent; n += 1) {
      const app_id = apps[name].pop()!
      expect((await ask(name, app_id, n, () => write([app_id], now_ms + n))).rows, `before statement ${n}`).toEqual(
        rows,
      )
    }
  })
})
