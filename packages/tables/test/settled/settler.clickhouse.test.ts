import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'
import { insertInstalls, installRows } from '@tributary/testing/engines/insert-verdicts'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bumpMoneyDays } from '../../src/settled/bump-stamps.ts'
import { type FigureName, figureOf } from '../../src/settled/figures.ts'
import { createSettler } from '../../src/settled/settler.ts'
import { settledNumbers } from '../../src/settled/sql/cohorts.ts'
import { cancel, dayOf, decisionOf, first_ms, liveFigures, moneyOf, settledFigures, writeApp } from './world.ts'

const logger = pino({ level: 'silent' })
let clickhouse: TestClickhouse
let app_id: string
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())
beforeEach(async () => {
  // Apps of other tests would only be settled too.
  for (const table of ['events_per_day_v1', 'installs_by_day_v1', 'revenue_raw_v1', 'report_stamps_v1'])
    await clickhouse.command(`TRUNCATE TABLE ${table}`)
  app_id = randomUUID()
  await writeApp(clickhouse, app_id)
})

const settle = (engine: Clickhouse = clickhouse, quiet_ms = 0) =>
  createSettler({ clickhouse: engine, logger })({ quiet_ms })

/** Everything is settled, and equals what is worked out live. */
async function expectSettled() {
  const { figures, cohorts, settled } = await settledFigures(clickhouse, app_id)
  const live = await liveFigures(clickhouse, app_id)
  for (const [name, rows] of Object.entries(live)) expect(rows.length, name).toBeGreaterThan(5)
  expect(figures).toEqual(live)
  expect(cohorts.settled.length).toBe(5 * settledNumbers.length)
  return settled
}

test('what is settled equals what is worked out live, and a second run finds nothing due', async () => {
  expect((await settle()).settled).toBeGreaterThan(60)
  await expectSettled()
  expect(await settle()).toEqual({ settled: 0, done: true })
})

test('the cohorts of an app are settled in few statements, whatever their numbers of days', async () => {
  const pairs: number[] = []
  const onSettled = (figure: string, days: number) => figure === 'cohorts' && pairs.push(days)
  await createSettler({ clickhouse, logger, onSettled })({ quiet_ms: 0 })
  expect(pairs).toEqual([limits.settle_cohort_days_first, 5 * settledNumbers.length - limits.settle_cohort_days_first])
})

test('a day that has just changed is left alone until it is quiet', async () => {
  expect(await settle(clickhouse, 60_000)).toEqual({ settled: 0, done: true })
})

test('a day of money that was settled is settled again after 8 changes, quiet or not', async () => {
  await settle()
  const pay = (n: number) =>
    clickhouse.insertEvents([lateEvent({ event_id: `p${n}`, revenue_micros: '5', currency: 'USD' })], randomUUID())
  for (let n = 1; n < limits.settle_changes_max; n++) await pay(n)
  expect((await settle(clickhouse, 60_000)).settled).toBe(0)
  await pay(limits.settle_changes_max)
  expect((await settle(clickhouse, 60_000)).settled).toBe(1)
})

const notedEvents = async () => {
  const sql = `SELECT sum(events) AS noted, (SELECT count() FROM revenue_raw_v1) AS stored FROM settled_money_v1 FINAL WHERE app_id = '${app_id}'`
  return (await clickhouse.query<{ noted: number; stored: number }>(sql))[0]!
}

test('settled money notes how many events it counts', async () => {
  await settle()
  const { noted, stored } = await notedEvents()
  expect(noted).toBeGreaterThan(20)
  expect(noted).toBe(stored)
})

test('settled money counts an event whose day a changed verdict would not find, and does not note it', async () => {
  await settle()
  for (const table of ['money_days_v1', 'settled_money_v1']) await clickhouse.command(`TRUNCATE TABLE ${table}`)
  expect((await settle()).settled).toBeGreaterThan(5)
  expect((await notedEvents()).noted).toBe(0)
  // An erasure may be about to fill the days again, and its stamp is there already.
  await expectSettled()
})

test('the day that is not over stays live for the job, and a command settles it', async () => {
  await settle()
  await clickhouse.insertEvents([testEventRow({ app_id, ts_ms: Date.now(), event_name: 'now' })], randomUUID())
  const job = createSettler({ clickhouse, logger })
  expect(await job({ quiet_ms: 0, only_over: true })).toEqual({ settled: 0, done: true })
  expect((await settle()).settled).toBeGreaterThan(0)
})

const late_ms = first_ms + 6 * day_ms + 5_000
const lateEvent = (given: object = {}) =>
  testEventRow({ app_id, ts_ms: late_ms, install_uuid: 'install-4', event_name: 'late', ...given })
const notSettled = (days: readonly string[], before: readonly string[]) => before.filter((day) => !days.includes(day))

/** Each change, the sources of the figures that are not settled after it, and the days on which they are not. */
const changes: [what: string, change: () => Promise<void>, live: Record<string, number[]>][] = [
  ['a late event', () => clickhouse.insertEvents([lateEvent()], randomUUID()), { uniques: [6] }],
  [
    'a refund',
    () =>
      clickhouse.insertEvents(
        [lateEvent({ event_name: 'purchase_refunded', revenue_micros: '-5', currency: 'USD' })],
        randomUUID(),
      ),
    { uniques: [6], money: [6] },
  ],
  ['cancelled money', async () => cancel(clickhouse, [await moneyOf(clickhouse, app_id, late_ms)]), { money: [6] }],
  [
    'a changed verdict',
    async () => {
      const before = decisionOf(4)
      const rows = installRows(app_id, [before, { ...before, partner: 'other' }], 1000)
      await insertInstalls(clickhouse, rows.slice(1), randomUUID())
      await bumpMoneyDays(clickhouse, [{ app_id, install_uuid: before.install_uuid }])
    },
    { installs: [4], dimensions: [4], money: [4, 5, 6, 9] },
  ],
]

test('after each kind of change only the days that it changes are live, and they are settled again', async () => {
  await settle()
  let before = await expectSettled()
  for (const [what, change, live] of changes) {
    await change()
    const { settled } = await settledFigures(clickhouse, app_id)
    for (const [figure, days] of Object.entries(before)) {
      const expected = (live[figureOf(figure as FigureName).source] ?? [])
        .map((n) => dayOf(first_ms + n * day_ms))
        .filter((day) => days.includes(day))
      expect({ what, figure, days: notSettled(settled[figure]!, days) }).toEqual({ what, figure, days: expected })
    }
    await settle()
    before = await expectSettled()
  }
})

/** The engine for a process that is killed at the step with that number, after it or instead of it. */
function killedAt(step: number, instead: boolean): Clickhouse {
  let steps = 0
  const dying =
    <Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      steps += 1
      if (steps > step || (steps === step && instead)) throw new Error('killed')
      const result = await run(...args)
      if (steps === step) throw new Error('killed')
      return result
    }
  return {
    ...clickhouse,
    query: dying(clickhouse.query) as Clickhouse['query'],
    insert: dying(clickhouse.insert),
    command: dying(clickhouse.command),
  }
}

test('settlers that are killed at any step, and several at once, leave no figure that is wrong', async () => {
  for (const step of [1, 3, 5, 7, 8, 11, 14, 17, 22]) {
    await settle(killedAt(step, step % 2 === 0)).catch(() => {})
    const { figures, settled } = await settledFigures(clickhouse, app_id)
    const live = await liveFigures(clickhouse, app_id)
    for (const [list, rows] of Object.entries(figures)) {
      const days = settled[list.split('.')[0]!]
      const known = (live[list] as { date: string }[]).filter(({ date }) => days === undefined || days.includes(date))
      if (days !== undefined) expect({ step, list, rows }).toEqual({ step, list, rows: known })
      else expect(live[list]).toEqual(expect.arrayContaining(rows))
    }
  }
  await Promise.all([settle(), clickhouse.insertEvents([lateEvent()], randomUUID()), settle()])
  await settle()
  await expectSettled()
})

test('days that the engine refuses together are settled alone, and one that it refuses holds up no other', async () => {
  const refused = dayOf(first_ms + 3 * day_ms)
  const daysOf = (sql: string) => (sql.match(/\('\d{4}-\d\d-\d\d', \d/g) ?? []).length
  const asked: number[] = []
  const memory = new CodedError('unavailable', { cause: new Error('Query memory limit exceeded') })
  const small: Clickhouse = {
    ...clickhouse,
    async command(sql, options) {
      if (sql.includes('INTO settled_money_v1')) {
        asked.push(daysOf(sql))
        if (daysOf(sql) > 2 || sql.includes(refused)) throw memory
      }
      await clickhouse.command(sql, options)
    },
  }
  await settle(small)
  expect([Math.max(...asked) > 2, Math.min(...asked)]).toEqual([true, 1])
  const { settled, cohorts } = await settledFigures(clickhouse, app_id)
  expect([settled.money!.length > 5, settled.money!.includes(refused)]).toEqual([true, false])
  expect(cohorts.settled.length).toBe(5 * settledNumbers.length)
  await expect(settle({ ...small, checkHealth: () => Promise.reject(new Error('away')) })).rejects.toThrow('away')
  await settle()
  await expectSettled()
})
