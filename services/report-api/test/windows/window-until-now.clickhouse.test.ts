import { randomUUID } from 'node:crypto'
import { type EventRow, revenueRowColumns } from '@tributary/contracts/rows'
import { createSettler } from '@tributary/tables/settled/settler'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openReports, type Reports } from '../report-stage.ts'

const hour_ms = 3_600_000
const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms
const now_ms = march(4, 12 * hour_ms)
const window = { since_ms: march(1, 6 * hour_ms), until_ms: now_ms }

let reports: Reports
beforeAll(async () => {
  reports = await openReports({ rateOf: () => null, now: () => now_ms })
})
afterAll(() => reports.close())

const purchase = (app_id: string, ts_ms: number): EventRow =>
  testEventRow({
    ...{ app_id, install_uuid: `i${ts_ms}`, ts_ms },
    ...{ event_name: 'purchase', revenue_micros: '5000000', currency: 'USD' },
  })
const write = (app_id: string, ...times: readonly number[]) =>
  reports.clickhouse.insertEvents(
    times.map((ts_ms) => purchase(app_id, ts_ms)),
    randomUUID(),
  )

/** The rows of `events` of March 4, and how it was read last, while `arrive` runs before the statement number `n`, from 0. */
async function ask(app_id: string, n?: number, arrive?: () => Promise<void>) {
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
    const { rows } = await reports.ask('events', app_id, window)
    return { rows: rows.filter(({ day }) => day === '2026-03-04'), whole_to, sent }
  } finally {
    clickhouse.query = query
  }
}

const row = (purchases: number) => ({
  ...{ day: '2026-03-04', event_name: 'purchase' },
  ...{ events: purchases, unique_installs: purchases, revenue_usd: 5 * purchases },
})

test('events until now have all of today, read as a whole day, and nothing that is dated at its end or later', async () => {
  const app_id = randomUUID()
  await write(app_id, march(2), march(4), now_ms - 1)
  expect(await ask(app_id)).toMatchObject({ rows: [row(2)], whole_to: '2026-03-05' })
  // A clock may be ahead.
  for (const ts_ms of [now_ms, march(5) - 1]) {
    await write(app_id, ts_ms)
    expect(await ask(app_id)).toMatchObject({ rows: [row(2)], whole_to: '2026-03-04' })
  }
})

test('events until now have nothing of what is dated so and comes while they are read, at whatever statement', async () => {
  const app_id = randomUUID()
  await write(app_id, now_ms - 1)
  const { sent } = await ask(app_id)
  for (let n = 0; n < sent; n += 1) {
    const app_id = randomUUID()
    await write(app_id, now_ms - 1)
    const { rows } = await ask(app_id, n, () => write(app_id, now_ms + n))
    expect(rows, `before statement ${n}`).toEqual([row(1)])
  }
})

test('events until now have nothing of what is dated so while it is erased, after whatever step', async () => {
  const { clickhouse } = reports
  const app_id = randomUUID()
  await write(app_id, now_ms - 1, now_ms + 5)
  const late = `app_id = '${app_id}' AND install_uuid = 'i${now_ms + 5}'`
  // The store says that the later purchase brought 7 USD.
  const money = revenueRowColumns.join(', ')
  await clickhouse.command(
    `INSERT INTO revenue_cancelled_v1 (${money}) SELECT ${money} FROM revenue_raw_v1 WHERE ${late}`,
  )
  const place =
    'app_id, day, install_uuid, event_key, topic, partition, offset, ts_ms, correction_ms, install_key, event_name'
  await clickhouse.command(
    `INSERT INTO revenue_chosen_v1 (${place}, received_at_ms, dated_at_ms, counts, currency, amount_micros, price_source, reused, version)
     SELECT ${place}, received_at_ms, received_at_ms, 1, 'USD', 7000000, 'store', 0, 1 FROM revenue_raw_v1 WHERE ${late}`,
  )
  await createSettler({ clickhouse, logger: pino({ level: 'silent' }) })({ quiet_ms: 0 })
  expect((await ask(app_id)).rows).toEqual([row(1)])
  // The order of `carryOut` of the eraser: counters, raw events, money, copies of money. Settled figures end last.
  const counted = { app_id, day: '2026-03-04', event_name: 'purchase', currency: 'USD', batch: randomUUID() }
  const counters = { ...counted, received_day: '2026-03-04', events: 1, revenue_micros: '5000000', done: 0 }
  await clickhouse.insert({
    ...{ table: 'erased_events_v1', columns: Object.keys(counters), token: randomUUID() },
    lines: JSON.stringify(Object.values(counters)),
  })
  expect((await ask(app_id)).rows, 'counters').toEqual([row(1)])
  for (const table of ['events_raw_v1', 'revenue_raw_v1', 'revenue_cancelled_v1', 'revenue_chosen_v1']) {
    await clickhouse.command(`DELETE FROM ${table} WHERE ${late} SETTINGS lightweight_deletes_sync = 2`)
    expect((await ask(app_id)).rows, `delete ${table}`).toEqual([row(1)])
  }
})
