import { limits } from '@tributary/contracts/limits'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { adminApp, authorization } from './admin-app.ts'

let postgres: TestPostgres
let app: FastifyInstance
let lines: string[]
let clock_ms: number
beforeAll(async () => {
  postgres = await openTestPostgres()
})
afterAll(() => postgres.close())
beforeEach(async () => {
  clock_ms = Date.UTC(2026, 5, 1)
  lines = []
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  app = await adminApp(postgres.pool, { now: () => clock_ms, logger })
})
afterEach(() => app.close())

async function ask(given: string, remoteAddress = '192.0.2.1') {
  const url = '/admin/api/v1/companies'
  const answer = await app.inject({ url, remoteAddress, headers: { authorization: given } })
  return { status: answer.statusCode, error: answer.json().error, wait_s: answer.headers['retry-after'] }
}
const guess = (remoteAddress?: string) => ask('Bearer a-guess', remoteAddress)
const wrong = { status: 401, error: 'invalid_admin_token', wait_s: undefined }
const throttled = { status: 429, error: 'rate_limited', wait_s: '60' }

test('wrong tokens of one address are throttled, and of no other address', async () => {
  for (let n = 0; n < limits.admin_guesses_of_address_max; n += 1) expect(await guess()).toEqual(wrong)
  expect(await guess()).toEqual(throttled)
  clock_ms += 20_000
  expect(await guess()).toEqual({ ...throttled, wait_s: '40' })
  expect(await guess('192.0.2.2')).toEqual(wrong)
  clock_ms += 40_000
  expect(await guess()).toEqual(wrong)
})

test('wrong tokens of many addresses are throttled together', async () => {
  for (let n = 0; n < limits.admin_guesses_max; n += 1) expect(await guess(`198.51.100.${n % 250}`)).toEqual(wrong)
  expect(await guess('203.0.113.1')).toEqual(throttled)
})

test('who guesses does not lock the operator out', async () => {
  for (let n = 0; n <= limits.admin_guesses_max; n += 1) await guess()
  expect(await ask(authorization)).toMatchObject({ status: 200 })
})

test('any number of wrong and missing tokens is one line in the log, without the token', async () => {
  for (let n = 0; n < 400; n += 1) await guess()
  for (let n = 0; n < 100; n += 1) await ask('')
  await app.close()
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ count: 400, last: { ip: '192.0.2.1' } }])
  expect(lines.join()).not.toContain('a-guess')
})
