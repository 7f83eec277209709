import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import { askJob, doJob, findJob } from '@tributary/postgres/jobs'
import { findSettled } from '@tributary/tables/settled/find-settled'
import { insertInstalls, installRows } from '@tributary/testing/engines/insert-verdicts'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { settleWhenAsked, settleWhenQuiet } from '../src/settler-jobs.ts'

let postgres: TestPostgres
let clickhouse: TestClickhouse
beforeAll(async () => {
  ;[postgres, clickhouse] = await Promise.all([openTestPostgres(), openTestClickhouse()])
})
afterAll(() => Promise.all([postgres.close(), clickhouse.close()]))

const clock = { ms: Date.UTC(2026, 5, 1) }
const now = () => clock.ms
const running = new AbortController().signal
const deps = () => ({
  pool: postgres.pool,
  clickhouse,
  now,
  logger: pino({ level: 'silent' }),
  registry: new Registry(),
})
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const ask = () => askJob(postgres.pool, 'settle', now())
const outcomeOf = async (number: number) => (await findJob(postgres.pool, number))?.outcome
const store = (app_id: string) =>
  clickhouse.insertEvents([testEventRow({ app_id, ts_ms: now() - 3 * day_ms, received_at_ms: now() })], randomUUID())

test('whoever asks has days settled that changed just now, and hears how many figures', async () => {
  await store(`app_${randomUUID()}`)
  const whenAsked = settleWhenAsked(deps())
  await settleWhenQuiet(deps())(running)
  const number = await ask()
  expect(await findJob(postgres.pool, number)).toEqual({ begun: false, outcome: null })
  await whenAsked(running)
  expect(await outcomeOf(number)).toEqual({ settled: expect.toSatisfy((figures: number) => figures > 0), done: true })
  const again = await ask()
  await whenAsked(running)
  expect(await outcomeOf(again)).toEqual({ settled: 0, done: true })
})

test('money is settled by campaign only once the verdicts of before an upgrade are in the table of dimensions', async () => {
  const app_id = `app_${randomUUID()}`
  const [install_uuid, installed_at_ms] = [randomUUID(), now() - 3 * day_ms]
  const decided = { partner: 'acme', attribution_type: 'click_id', reinstall: false, flagged: false, pending: false }
  await insertInstalls(clickhouse, installRows(app_id, [{ install_uuid, installed_at_ms, ...decided }]), randomUUID())
  await clickhouse.command('TRUNCATE TABLE installs_by_dimensions_v1') // as an upgrade finds it
  const paid = { event_name: 'purchase', revenue_micros: '1000000', currency: 'USD' }
  await clickhouse.insertEvents(
    [testEventRow({ app_id, install_uuid, ts_ms: installed_at_ms + 1, received_at_ms: now(), ...paid })],
    randomUUID(),
  )
  await ask()
  await settleWhenAsked(deps())(running)
  expect(
    await clickhouse.query(
      `SELECT toInt64(arraySum(earned.micros)) AS micros FROM settled_earnings_v1 FINAL WHERE app_id = '${app_id}'`,
    ),
  ).toEqual([{ micros: 1_000_000 }])
})

test('whoever asks before the work is begun shares it, and gets work of its own once it is', async () => {
  const [first, second] = [await ask(), await ask()]
  expect(second).toBe(first)
  let third = 0
  const work = async () => {
    third = await ask()
    return { settled: 1, done: true }
  }
  await doJob(postgres.pool, 'settle', { now, stop: running, work })
  expect(third).toBeGreaterThan(first)
  expect(await outcomeOf(third)).toBeNull()
  await settleWhenAsked(deps())(running)
  expect(await outcomeOf(third)).toEqual({ settled: 0, done: true })
})

test('work that the end of its process broke off is begun once more, and what ended a day ago is forgotten', async () => {
  const number = await ask()
  const stop = AbortSignal.abort(new Error('stopped'))
  const broken = doJob(postgres.pool, 'settle', { now, stop, work: () => Promise.reject(new Error('broken off')) })
  await expect(broken).rejects.toThrow('stopped')
  expect(await findJob(postgres.pool, number)).toEqual({ begun: true, outcome: null })
  await settleWhenAsked(deps())(running)
  expect(await outcomeOf(number)).toEqual({ settled: 0, done: true })
  clock.ms += day_ms + 1
  await ask()
  await settleWhenAsked(deps())(running)
  expect(await findJob(postgres.pool, number)).toBeNull()
})

test('whoever asks until it is done settles the days of all apps, while one of them changes all of its days again and again', async () => {
  const [busy, quiet] = [`a_${randomUUID()}`, `b_${randomUUID()}`]
  const days = Array.from({ length: 20 }, (_, n) => now() - (n + 3) * day_ms)
  const pay = (app_id: string, times: readonly number[]) =>
    clickhouse.insertEvents(
      times.map((ts_ms) =>
        testEventRow({
          ...{ app_id, ts_ms, received_at_ms: now(), event_id: randomUUID() },
          ...{ revenue_micros: '5', currency: 'USD' },
        }),
      ),
      randomUUID(),
    )
  await pay(quiet, days.slice(0, 1))
  let over = new AbortController()
  const oneStatement: Clickhouse = {
    ...clickhouse,
    async command(...given) {
      await clickhouse.command(...given)
      over.abort()
    },
  }
  const timeout = () => {
    over = new AbortController()
    return over.signal
  }
  const whenAsked = settleWhenAsked({ ...deps(), clickhouse: oneStatement, timeout })
  let outcome: { done?: boolean } | null = null
  for (let n = 0; n < 30 && outcome?.done !== true; n++) {
    await pay(busy, days)
    const number = await ask()
    await whenAsked(running)
    outcome = (await outcomeOf(number)) as { done: boolean }
  }
  expect(outcome).toMatchObject({ done: true })
  const [from, to] = [dayOf(days[0]!), dayOf(days[0]! + day_ms)]
  for (const figure of ['uniques', 'money', 'payments'] as const)
    expect((await findSettled(clickhouse, figure, { app_id: quiet, from, to })).settled_days).toEqual([from])
})

test('whoever asks long after a run that was cut has all settled from the first figure on', async () => {
  await store(`a_${randomUUID()}`)
  await ask()
  const cut = settleWhenAsked({ ...deps(), timeout: () => AbortSignal.abort() })
  await cut(running)
  const cut_at = { settled: 0, done: false, cut: { figure: 'cohorts', after: null } }
  await postgres.pool.query('UPDATE jobs SET outcome = $1 WHERE number = (SELECT max(number) FROM jobs)', [cut_at])
  clock.ms += 60_001
  const number = await ask()
  await settleWhenAsked(deps())(running)
  expect(await outcomeOf(number)).toEqual({ settled: expect.toSatisfy((figures: number) => figures > 0), done: true })
})

test('work that fails says why and holds up no other', async () => {
  const failing = await ask()
  const work = async () => {
    await ask()
    throw new Error('no memory')
  }
  await expect(doJob(postgres.pool, 'settle', { now, stop: running, work })).rejects.toThrow('no memory')
  expect(await outcomeOf(failing)).toEqual({ error: 'no memory' })
  const after = await ask()
  expect(after).toBeGreaterThan(failing)
  await settleWhenAsked(deps())(running)
  expect(await outcomeOf(after)).toEqual({ settled: 0, done: true })
})
