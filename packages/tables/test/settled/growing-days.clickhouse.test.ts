import { randomUUID } from 'node:crypto'
import { day_ms, limits } from '@tributary/contracts/limits'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addStamps } from '../../src/settled/bump-stamps.ts'
import { findSettled } from '../../src/settled/find-settled.ts'
import { createSettler, whenQuiet } from '../../src/settled/settler.ts'
import { dayOf } from './world.ts'

let clickhouse: TestClickhouse
let app_id: string
let paid = 0
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())
beforeEach(() => {
  app_id = randomUUID()
})

const logger = pino({ level: 'silent' })
/** The figures that the job settles in one run, one for each statement. */
async function run(): Promise<string[]> {
  const settled: string[] = []
  await createSettler({ clickhouse, logger, onSettled: (figure) => settled.push(figure) })(whenQuiet)
  return settled
}
/** Settles all that is due, as a command does. */
const settleNow = () => createSettler({ clickhouse, logger })({ quiet_ms: 0 })

const minute_ms = 60_000
const now = () => Date.now()
/** Payments of the day of `ts_ms` that the gateway received `age_ms` ago. */
const pay = (count: number, { age_ms = minute_ms, ts_ms = now() } = {}) =>
  clickhouse.insertEvents(
    Array.from({ length: count }, () => {
      const number = paid++
      return testEventRow({
        ...{ app_id, ts_ms, received_at_ms: now() - age_ms, install_uuid: `i-${number}`, event_id: `e-${number}` },
        ...{ event_name: 'purchase', revenue_micros: '5', currency: 'USD', offset: number },
      })
    }),
    randomUUID(),
  )

/** The settled row of a day: how many payments it counts, and by how much the stamp of the day is ahead of its own. */
async function rowOf(ts_ms = now()) {
  const [row] = await clickhouse.query<{ events: number; left_out: number; behind: number; purchases: number }>(
    `SELECT events, left_out, toInt64((SELECT sum(rows) FROM report_stamps_v1 WHERE app_id = {app_id:String} AND day = {day:Date} AND source = 'money')) - stamp AS behind,
       arraySum(money.purchases) AS purchases
     FROM settled_money_v1 FINAL WHERE app_id = {app_id:String} AND day = {day:Date}`,
    { app_id, day: dayOf(ts_ms) },
  )
  return row
}
const isSettled = async (ts_ms = now()) => {
  const [from, to] = [dayOf(ts_ms), dayOf(ts_ms + day_ms)]
  return (await findSettled(clickhouse, 'money', { app_id, from, to })).settled_days.length === 1
}

test('money of today is settled after 1000 payments, and again when a sixteenth of all are new', async () => {
  const first = limits.settle_today_changes_min
  await pay(first - 1)
  expect(await run()).toEqual([])
  await pay(1)
  expect([await run(), await rowOf()]).toEqual([['money'], { events: first, left_out: 0, behind: 0, purchases: first }])
  await pay(first * 19)
  expect([await run(), (await rowOf())?.events]).toEqual([['money'], first * 20])
  const due_after = Math.floor((first * 20) / 15)
  await pay(due_after - 1)
  expect(await run()).toEqual([])
  await pay(1)
  expect([await run(), (await rowOf())?.events]).toEqual([['money'], first * 20 + due_after])
})

test('the row of a day that changes ends before a payment that another partition still writes', async () => {
  const first = limits.settle_today_changes_min
  await pay(first)
  await pay(20, { age_ms: -minute_ms })
  await run()
  expect([await rowOf(), await isSettled()]).toEqual([
    { events: first, left_out: 20, behind: 1, purchases: first },
    false,
  ])
  // Received before the last of those, and written after the row.
  await pay(1, { age_ms: 2000 })
  const [{ counted = 0 } = {}] = await clickhouse.query<{ counted: number }>(
    `SELECT countIf(received_at_ms <= (SELECT max(last_received_ms) FROM settled_money_v1 FINAL WHERE app_id = {app_id:String})) AS counted
     FROM revenue_raw_v1 WHERE app_id = {app_id:String}`,
    { app_id },
  )
  expect(counted).toBe(first)
})

test('a day that is over and goes on changing is settled short of the last seconds, and wholly once it is quiet', async () => {
  const ts_ms = now() - 5 * day_ms
  await pay(3, { ts_ms })
  await settleNow()
  expect(await isSettled(ts_ms)).toBe(true)
  await pay(limits.settle_changes_max, { ts_ms })
  await pay(2, { ts_ms, age_ms: -minute_ms })
  await run()
  const counted = 3 + limits.settle_changes_max
  expect([await rowOf(ts_ms), await isSettled(ts_ms)]).toEqual([
    { events: counted, left_out: 2, behind: 1, purchases: counted },
    false,
  ])
  await settleNow()
  expect([await rowOf(ts_ms), await isSettled(ts_ms)]).toEqual([
    { events: counted + 2, left_out: 0, behind: 0, purchases: counted + 2 },
    true,
  ])
})

test('a row never counts less than the row before, also of the last seconds', async () => {
  const ts_ms = now() - 4 * day_ms
  await pay(3, { ts_ms, age_ms: 1000 })
  await settleNow()
  await pay(limits.settle_changes_max, { ts_ms, age_ms: -minute_ms })
  await run()
  expect((await rowOf(ts_ms))?.events).toBe(3)
})

test('a row that leaves events out is no whole day, though a replica that is behind shows its stamp', async () => {
  await pay(limits.settle_today_changes_min)
  await pay(1, { age_ms: -minute_ms })
  await run()
  expect((await rowOf())?.behind).toBe(1)
  await clickhouse.command(
    `INSERT INTO settled_money_v1 SELECT * REPLACE (stamp + 1 AS stamp) FROM settled_money_v1 FINAL WHERE app_id = '${app_id}'`,
  )
  expect([(await rowOf())?.behind, await isSettled()]).toEqual([0, false])
})

test('what is just being written, and is left out, keeps no row from noting what it counts', async () => {
  await pay(limits.settle_today_changes_min)
  await pay(1, { age_ms: -minute_ms })
  // The payment is inserted, and its view has not run yet.
  const of_last = `app_id = '${app_id}' AND install_key = sipHash64('i-${paid - 1}')`
  await clickhouse.command(`DELETE FROM money_days_v1 WHERE ${of_last}`)
  await run()
  expect(await rowOf()).toMatchObject({ events: limits.settle_today_changes_min, left_out: 1 })
})

test('one payment that was received a day ahead stays out of the rows to come', async () => {
  await pay(limits.settle_today_changes_min)
  await pay(1, { age_ms: -day_ms })
  await settleNow()
  await pay(limits.settle_today_changes_min)
  await run()
  expect(await rowOf()).toMatchObject({ events: 2 * limits.settle_today_changes_min, left_out: 1 })
})

test('money of today whose last row was spoilt is settled less often', async () => {
  const first = limits.settle_today_changes_min
  await pay(first * 12)
  expect(await run()).toEqual(['money'])
  await addStamps(clickhouse, [{ app_id, source: 'money', day: dayOf(now()), rows: 1 }], randomUUID())
  await pay(first)
  expect(await run()).toEqual([])
  await pay(first * 3)
  expect(await run()).toEqual(['money'])
})
