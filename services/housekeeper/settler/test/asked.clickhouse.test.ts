import { randomUUID } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import { askJob, doJob, findJob } from '@tributary/postgres/jobs'
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
