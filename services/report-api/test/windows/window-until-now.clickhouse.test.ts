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

/** The rows of `events` of March 4, and how it was read last. Something happens before the statements with these numbers, from 0. */
async function ask(app_id: string, happens: Record<number, () => Promise<void>> = {}) {
  const { clickhouse } = reports
  const { query } = clickhouse
  let sent = 0
  let whole_to: unknown
  clickhouse.query = async (...given: Parameters<typeof query>) => {
    await happens[sent++]?.()
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
    const { rows } = await ask(app_id, { [n]: () => write(app_id, now_ms + n) })
    expect(rows, `before statement ${n}`).toEqual([row(1)])
  }
})

test('events until now have nothing of what is dated so and is erased again while they are read', async () => {
  const [known, app_id] = [randomUUID(), randomUUID()]
  for (const app of [known, app_id]) await write(app, now_ms - 1)
  const { sent } = await ask(known)
  const late = now_ms + 5
  const { rows } = await ask(app_id, {
    // After the first look.
    2: () => write(app_id, late),
    [sent - 1]: async () => {
      await count(app_id)
      await take(app_id, late, 'events_raw_v1')
    },
  })
  expect(rows).toEqual([row(1)])
})

test('events until now have nothing of what is dated so while it is erased, after whatever step', async () => {
  const { clickhouse } = reports
  const app_id = randomUUID()
  const late = now_ms + 5
  await write(app_id, now_ms - 1, late)
  // The store says that the later purchase brought 7 USD.
  const ofLate = `app_id = '${app_id}' AND install_uuid = 'i${late}'`
  const money = revenueRowColumns.join(', ')
  await clickhouse.command(
    `INSERT INTO revenue_cancelled_v1 (${money}) SELECT ${money} FROM revenue_raw_v1 WHERE ${ofLate}`,
  )
  const place =
    'app_id, day, install_uuid, event_key, topic, partition, offset, ts_ms, correction_ms, install_key, event_name'
  await clickhouse.command(
    `INSERT INTO revenue_chosen_v1 (${place}, received_at_ms, dated_at_ms, counts, currency, amount_micros, price_source, reused, version)
     SELECT ${place}, received_at_ms, received_at_ms, 1, 'USD', 7000000, 'store', 0, 1 FROM revenue_raw_v1 WHERE ${ofLate}`,
  )
  await createSettler({ clickhouse, logger: pino({ level: 'silent' }) })({ quiet_ms: 0 })
  expect((await ask(app_id)).rows).toEqual([row(1)])
  await count(app_id)
  expect((await ask(app_id)).rows, 'counters').toEqual([row(1)])
  for (const table of erasedTables) {
    await take(app_id, late, table)
    expect((await ask(app_id)).rows, table).toEqual([row(1)])
  }
})

test('events until now have an event of today that is being erased until it is taken, and its cancelled money never', async () => {
  const app_id = randomUUID()
  const [kept, gone] = [purchase(app_id, now_ms - 1), purchase(app_id, now_ms - 2)]
  await reports.clickhouse.insertEvents([kept, gone], randomUUID())
  await reports.cancel([gone])
  const whole = { ...row(2), revenue_usd: 5 }
  expect((await ask(app_id)).rows).toEqual([whole])
  await count(app_id)
  expect((await ask(app_id)).rows, 'counters').toEqual([whole])
  for (const table of erasedTables) await take(app_id, gone.ts_ms, table)
  expect((await ask(app_id)).rows).toEqual([row(1)])
})

/** In the order of `carryOut` of the eraser, which counts first. Settled figures end last. */
const erasedTables = ['events_raw_v1', 'revenue_raw_v1', 'revenue_cancelled_v1', 'revenue_chosen_v1']

/** Takes a purchase of 5 USD on March 4 away from sums, as an erasure does first. */
async function count(app_id: string) {
  const counted = { app_id, day: '2026-03-04', event_name: 'purchase', currency: 'USD', batch: randomUUID() }
  const counters = { ...counted, received_day: '2026-03-04', events: 1, revenue_micros: '5000000', done: 0 }
  await reports.clickhouse.insert({
    ...{ table: 'erased_events_v1', columns: Object.keys(counters), token: randomUUID() },
    lines: JSON.stringify(Object.values(counters)),
  })
}

/** Takes the rows of a purchase from a table, as an erasure does then. */
const take = (app_id: string, ts_ms: number, table: string) =>
  reports.clickhouse.command(
    `DELETE FROM ${table} WHERE app_id = '${app_id}' AND install_uuid = 'i${ts_ms}' SETTINGS lightweight_deletes_sync = 2`,
  )
