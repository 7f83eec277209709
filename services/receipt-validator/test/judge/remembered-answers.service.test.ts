import { randomUUID } from 'node:crypto'
import { removeOldAnswers } from '@tributary/tables/receipts/store-answers'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRememberedAnswers } from '../../src/judge/remembered-answers.ts'

const hour_ms = 3_600_000
let postgres: TestPostgres
let app_id: string
beforeAll(async () => {
  postgres = await openTestPostgres()
  const request = { actor: 'test', request_id: 'r', now_ms: 0 }
  const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
  const { company_id } = await createCompany(postgres.pool, { name: 'A', plan: 'free' }, request)
  const app = await createApp(postgres.pool, masterKeys, { company_id, name: 'G', platform: 'ios' }, request)
  app_id = app.app_id
})
afterAll(() => postgres.close())

type Answer = { id: number } | 'not_found' | 'wrong_bundle' | 'wrong_product' | 'refused' | 'unknown_app' | 'store_away'

/** Processes that ask one question of a purchase, and how often the store heard it. */
function askers(answer: Answer, isKept = true) {
  const question = ['apple', randomUUID()]
  let elapsed_ms = 0
  let requests = 0
  let answers = createRememberedAnswers(postgres.pool, app_id, () => elapsed_ms)
  return {
    ask: () =>
      answers.ask<{ id: number }>(
        question,
        async () => {
          requests += 1
          return answer
        },
        () => isKept,
      ),
    requests: () => requests,
    /** Time passes for this process, and for PostgreSQL. */
    async advance(ms: number) {
      elapsed_ms += ms
      await postgres.pool.query('UPDATE store_answers SET until_ms = until_ms - $1', [ms])
    },
    restart() {
      answers = createRememberedAnswers(postgres.pool, app_id, () => elapsed_ms)
    },
  }
}

test('many events with one receipt are one question, over a restart too', async () => {
  const { ask, requests, restart } = askers({ id: 1 })
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([{ id: 1 }, { id: 1 }, { id: 1 }])
  expect(await ask()).toEqual({ id: 1 })
  restart()
  expect(await Promise.all([ask(), ask()])).toEqual([{ id: 1 }, { id: 1 }])
  expect(requests()).toBe(1)
})

test.each<[Answer, string, number]>([
  [{ id: 1 }, 'day', 24 * hour_ms],
  ['not_found', 'hour', hour_ms],
  ['wrong_bundle', 'hour', hour_ms],
  ['wrong_product', 'hour', hour_ms],
])('the answer %o holds for one %s, in memory and in PostgreSQL', async (answer, _name, ms) => {
  for (const is_restarted of [false, true]) {
    const { ask, requests, advance, restart } = askers(answer)
    await ask()
    if (is_restarted) restart()
    await advance(ms - 60_000)
    expect(await ask()).toEqual(answer)
    expect(requests()).toBe(1)
    await advance(60_001)
    expect(await ask()).toEqual(answer)
    expect(requests()).toBe(2)
  }
})

test('what another process learned long ago does not hold longer in the memory of this one', async () => {
  const { ask, requests, advance, restart } = askers('not_found')
  await ask()
  await advance(hour_ms - 60_000)
  restart()
  await ask()
  await advance(60_001)
  await ask()
  expect(requests()).toBe(2)
})

test.each<Answer>(['store_away', 'refused', 'unknown_app'])(
  '%s is no answer about a purchase: the store is asked again',
  async (answer) => {
    const { ask, requests } = askers(answer)
    expect([await ask(), await ask()]).toEqual([answer, answer])
    expect(requests()).toBe(2)
  },
)

test('an answer that may change is never kept', async () => {
  const { ask, requests } = askers({ id: 1 }, false)
  await ask()
  await ask()
  expect(requests()).toBe(2)
})

test('answers that hold no more are deleted, and no others', async () => {
  const [old, young] = [askers('not_found'), askers({ id: 1 })]
  await old.ask()
  await young.ask()
  await old.advance(hour_ms)
  const before = (await postgres.pool.query('SELECT FROM store_answers')).rowCount!
  await removeOldAnswers(postgres.pool)
  expect((await postgres.pool.query('SELECT FROM store_answers')).rowCount).toBeLessThan(before)
  young.restart()
  await young.ask()
  expect(young.requests()).toBe(1)
})
