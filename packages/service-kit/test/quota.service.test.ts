import { randomBytes } from 'node:crypto'
import { CodedError } from '@tributary/contracts/errors'
import { memoryKeyValue } from '@tributary/testkit/memory-key-value'
import * as fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { beforeEach, expect, it } from 'vitest'
import { countersBreaker } from '../src/counters-breaker.ts'
import { createQuota, type Reservation } from '../src/quota.ts'

const november = Date.UTC(2026, 10, 21, 12)
const november_left_s = (Date.UTC(2026, 11, 1) - november) / 1000

let now_ms: number
let lines: { percent?: number; used?: number; company_id?: string }[]
let keyValue: ReturnType<typeof memoryKeyValue>
let company_id: string
const now = () => now_ms
beforeEach(() => {
  now_ms = november
  lines = []
  keyValue = memoryKeyValue(now)
  company_id = `co_${randomBytes(10).toString('hex')}`
})
const gateway = () => {
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return createQuota({ keyValue, steady: countersBreaker(now), logger, registry: new Registry() })
}
const refusalOf = async (wanted: Promise<Reservation>): Promise<CodedError> => {
  const error = await wanted.then(() => null).catch((reason: unknown) => reason)
  if (!(error instanceof CodedError)) throw new Error('was not refused')
  return error
}

it('refuses a request that would cross the cap as a whole, with the use and the wait until next month', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 100 }
  const { headers } = await quota.reserve(company, 60, now_ms)
  expect(headers).toEqual({ 'x-service-quota-used': '60', 'x-service-quota-limit': '100' })
  const refusal = await refusalOf(quota.reserve(company, 41, now_ms))
  expect([refusal.status, refusal.code]).toEqual([429, 'cap_exceeded'])
  expect(refusal.headers).toEqual({
    'x-service-quota-used': '60',
    'x-service-quota-limit': '100',
    'retry-after': String(november_left_s),
  })
  expect((await quota.reserve(company, 40, now_ms)).headers['x-service-quota-used']).toBe('100')
})

it('starts a new month at midnight UTC of its first day', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 10 }
  await quota.reserve(company, 10, Date.UTC(2026, 11, 1) - 1)
  await refusalOf(quota.reserve(company, 1, Date.UTC(2026, 11, 1) - 1))
  expect((await quota.reserve(company, 10, Date.UTC(2026, 11, 1))).headers['x-service-quota-used']).toBe('10')
})

it('gives back what a failed request had reserved', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 10 }
  const failed = await quota.reserve(company, 10, now_ms)
  await failed.giveBack()
  expect((await quota.reserve(company, 10, now_ms)).headers['x-service-quota-used']).toBe('10')
})

it('counts a company without a cap and names no limit', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: null }
  await quota.reserve(company, 5_000_000, now_ms)
  expect((await quota.reserve(company, 1, now_ms)).headers).toEqual({ 'x-service-quota-used': '5000001' })
})

it('never passes the cap and refuses nothing that fits, whatever requests race at two gateways', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ n: fc.integer({ min: 1, max: 60 }), second: fc.boolean(), fails: fc.boolean() }), {
        minLength: 1,
        maxLength: 40,
      }),
      fc.integer({ min: 1, max: 300 }),
      async (requests, monthly_quota) => {
        const gateways = [gateway(), gateway()]
        const company = { company_id: randomBytes(10).toString('hex'), monthly_quota }
        let reserved = 0
        let most = 0
        const answers = await Promise.all(
          requests.map(async ({ n, second, fails }) => {
            const held = await gateways[Number(second)]!.reserve(company, n, now_ms).catch(() => null)
            if (held === null) return { n, taken: false }
            reserved += n
            most = Math.max(most, reserved)
            if (fails) {
              reserved -= n
              await held.giveBack()
            }
            return { n, taken: !fails }
          }),
        )
        const taken = answers.filter((answer) => answer.taken).reduce((sum, { n }) => sum + n, 0)
        expect(most).toBeLessThanOrEqual(monthly_quota)
        expect([...keyValue.totals].find(([key]) => key.includes(company.company_id))?.[1] ?? 0).toBe(taken)
        // What is left is still to be had.
        if (taken < monthly_quota) await gateways[0]!.reserve(company, monthly_quota - taken, now_ms)
        await refusalOf(gateways[1]!.reserve(company, 1, now_ms))
      },
    ),
    { numRuns: 200 },
  )
})

it('goes on with what it knows while the counters are away, and asks them again within a second or two', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 100 }
  await quota.reserve(company, 50, now_ms)
  keyValue.fault = new Error('away')
  expect((await quota.reserve(company, 30, now_ms)).headers['x-service-quota-used']).toBe('80')
  await (await quota.reserve(company, 15, now_ms)).giveBack()
  expect((await quota.reserve(company, 20, now_ms)).headers['x-service-quota-used']).toBe('100')
  expect((await refusalOf(quota.reserve(company, 1, now_ms))).code).toBe('cap_exceeded')
  keyValue.fault = null
  now_ms += 1001
  expect((await quota.reserve(company, 1, now_ms)).headers['x-service-quota-used']).toBe('51')
})

it('says once that 80 and once that 100 percent are used', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 100 }
  for (let n = 0; n < 20; n += 1) await quota.reserve(company, 5, now_ms)
  for (let n = 0; n < 3; n += 1) await refusalOf(quota.reserve(company, 5, now_ms))
  expect(lines.map(({ percent, used }) => ({ percent, used }))).toEqual([
    { percent: 80, used: 80 },
    { percent: 100, used: 100 },
  ])
  expect(lines[0]?.company_id).toBe(company_id)
})

it('says 100 percent at the first refusal when no request fits any more', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 100 }
  await quota.reserve(company, 70, now_ms)
  await refusalOf(quota.reserve(company, 50, now_ms))
  await refusalOf(quota.reserve(company, 50, now_ms))
  expect(lines.map(({ percent }) => percent)).toEqual([100])
})
