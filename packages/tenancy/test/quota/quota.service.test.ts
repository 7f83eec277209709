import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CodedError } from '@tributary/contracts/errors'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import * as fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { countersBreaker } from '../../src/quota/counters-breaker.ts'
import { createQuota, type Reservation } from '../../src/quota/quota.ts'
import { bodyBytesKey, bodyBytesMax, quotaKey, rejectedKey } from '../../src/quota/quota-key.ts'

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
const gateway = (registry = new Registry()) => {
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return createQuota({ keyValue, breaker: countersBreaker(now), logger, registry })
}
/** A request with so many accepted events. */
const events = (counted: number) => ({ counted, body_bytes: 400 * Math.max(1, counted) })
/** Steps of each counter from now on. */
const countSteps = () => {
  const steps = new Map<string, number>()
  const { addCapped } = keyValue
  keyValue.addCapped = (key, ...step) => {
    steps.set(key, (steps.get(key) ?? 0) + 1)
    return addCapped(key, ...step)
  }
  return steps
}
const refusalOf = async (wanted: Promise<Reservation>): Promise<CodedError> => {
  const error = await wanted.then(() => null).catch((reason: unknown) => reason)
  if (!(error instanceof CodedError)) throw new Error('was not refused')
  return error
}

it('refuses a request that would cross the cap as a whole, with the use and the wait until next month', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 100 }
  const { headers } = await quota.reserve(company, events(60), now_ms)
  expect(headers).toEqual({ 'x-service-quota-used': '60', 'x-service-quota-limit': '100' })
  const refusal = await refusalOf(quota.reserve(company, events(41), now_ms))
  expect([refusal.status, refusal.code]).toEqual([429, 'cap_exceeded'])
  expect(refusal.headers).toEqual({
    'x-service-quota-used': '60',
    'x-service-quota-limit': '100',
    'retry-after': String(november_left_s),
  })
  expect((await quota.reserve(company, events(40), now_ms)).headers['x-service-quota-used']).toBe('100')
})

it('reserves ahead only where a step is a round trip, and gives that back when it is closed', async () => {
  for (const is_local of [true, false]) {
    keyValue = Object.assign(memoryKeyValue(now), { is_local })
    const quota = gateway()
    for (let n = 0; n < 10; n += 1) await quota.reserve({ company_id, monthly_quota: null }, events(50), now_ms)
    const [held] = keyValue.totals.values()
    expect([is_local, held! > 500]).toEqual([is_local, !is_local])
    await quota.close()
    expect([...keyValue.totals.values()]).toEqual([500])
  }
})

it('counts the gateways of one process in the same metrics', async () => {
  const registry = new Registry()
  for (const quota of [gateway(registry), gateway(registry)]) {
    await refusalOf(quota.reserve({ company_id, monthly_quota: 10 }, events(11), now_ms))
  }
  const metric = await registry.getSingleMetric('tributary_quota_refused_total')?.get()
  expect(metric?.values.map(({ value }) => value)).toEqual([2])
})

it('starts a new month at midnight UTC of its first day', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 10 }
  await quota.reserve(company, events(10), Date.UTC(2026, 11, 1) - 1)
  await refusalOf(quota.reserve(company, events(1), Date.UTC(2026, 11, 1) - 1))
  expect((await quota.reserve(company, events(10), Date.UTC(2026, 11, 1))).headers['x-service-quota-used']).toBe('10')
})

it('gives back what a failed request had reserved', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 10 }
  const failed = await quota.reserve(company, events(10), now_ms)
  await failed.giveBack()
  expect((await quota.reserve(company, events(10), now_ms)).headers['x-service-quota-used']).toBe('10')
})

it('counts a company without a cap and names no limit', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: null }
  await quota.reserve(company, events(5_000_000), now_ms)
  expect((await quota.reserve(company, events(1), now_ms)).headers).toEqual({ 'x-service-quota-used': '5000001' })
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
            const held = await gateways[Number(second)]!.reserve(company, events(n), now_ms).catch(() => null)
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
        expect([...keyValue.totals].find(([key]) => key === quotaKey(company.company_id, now_ms))?.[1] ?? 0).toBe(taken)
        // What is left is still to be had.
        if (taken < monthly_quota) await gateways[0]!.reserve(company, events(monthly_quota - taken), now_ms)
        await refusalOf(gateways[1]!.reserve(company, events(1), now_ms))
      },
    ),
    { numRuns: 200 },
  )
})

it('goes on with what it knows while the counters are away, and asks them again within a second or two', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 100 }
  await quota.reserve(company, events(50), now_ms)
  keyValue.fault = new Error('away')
  expect((await quota.reserve(company, events(30), now_ms)).headers['x-service-quota-used']).toBe('80')
  await (await quota.reserve(company, events(15), now_ms)).giveBack()
  expect((await quota.reserve(company, events(20), now_ms)).headers['x-service-quota-used']).toBe('100')
  expect(await refusalOf(quota.reserve(company, events(1), now_ms))).toMatchObject({
    code: 'cap_exceeded',
    headers: { 'x-service-quota-used': '100' },
  })
  keyValue.fault = null
  now_ms += 1001
  expect((await quota.reserve(company, events(1), now_ms)).headers['x-service-quota-used']).toBe('51')
  keyValue.fault = new Error('away again')
  expect((await quota.reserve(company, events(1), now_ms)).headers['x-service-quota-used']).toBe('52')
})

describe('requests that wait for the same step', () => {
  /** The use that each was told, null where it was refused; the first takes a step of its own, the others wait for it. */
  const race = (caps: readonly (readonly [n: number, monthly_quota: number])[]) => {
    const quota = gateway()
    return Promise.all(
      caps.map(([n, monthly_quota]) =>
        quota
          .reserve({ company_id, monthly_quota }, events(n), now_ms)
          .then(({ headers }) => Number(headers['x-service-quota-used']))
          .catch(() => null),
      ),
    )
  }

  it.each<[string, number, (number | null)[]]>([
    ['all fit', 100, [5, 15, 35, 65]],
    ['not all fit', 40, [5, 15, 35, null]],
  ])('are counted in the order in which they came: %s', async (_what, cap, told) => {
    expect(await race([5, 10, 20, 30].map((n) => [n, cap] as const))).toEqual(told)
  })

  it('are each held to the cap that they know', async () => {
    const told = await race([
      [1, 100],
      [50, 100],
      [8, 10],
    ]) // lowered meanwhile
    expect(told).toEqual([1, 51, null])
  })

  it('cost each counter one step together', async () => {
    const steps = countSteps()
    await race(Array.from({ length: 100 }, () => [1, 1000] as const))
    expect([...steps.values()]).toEqual([2, 2])
  })
})

describe('rejected events', () => {
  const use = (quota: ReturnType<typeof gateway>, n: number, rejected: number, monthly_quota: number | null = 10) =>
    quota.reserve(
      { company_id, monthly_quota },
      { ...events(n), rejected: new Map([['invalid_field', rejected]]) },
      now_ms,
    )

  it('use nothing of the quota up, but are refused once it is', async () => {
    const quota = gateway()
    const { headers } = await use(quota, 0, 4)
    expect(headers).toEqual({ 'x-service-quota-used': '0', 'x-service-quota-limit': '10' })
    await use(quota, 10, 0)
    const refusal = await refusalOf(use(quota, 0, 1))
    expect([refusal.code, refusal.headers['x-service-quota-used']]).toEqual(['cap_exceeded', '10'])
    expect(refusal.headers['retry-after']).toBe(String(november_left_s))
  })

  it('are as many as the quota in a month; a request that would bring more is refused whole', async () => {
    const quota = gateway()
    await use(quota, 1, 8)
    const refusal = await refusalOf(use(quota, 3, 3))
    expect([refusal.code, refusal.headers['x-service-quota-used']]).toEqual(['cap_exceeded', '1'])
    expect((await use(quota, 9, 0)).headers['x-service-quota-used']).toBe('10')
    const elsewhere = gateway()
    now_ms = Date.UTC(2026, 11, 1)
    await use(elsewhere, 0, 10)
    await refusalOf(use(elsewhere, 0, 1))
  })

  it('of a failed request are given back, and a company without a cap may have any number, which is counted', async () => {
    const quota = gateway()
    await (await use(quota, 5, 10)).giveBack()
    await use(quota, 10, 10)
    await use(quota, 0, 5_000_000, null)
    await use(quota, 1, 5_000_000, null)
    await (await use(quota, 1, 7, null)).giveBack()
    expect(keyValue.totals.get(rejectedKey(company_id, now_ms))).toBe(10_000_010)
  })

  it('are judged by what is known while the counters are away', async () => {
    const quota = gateway()
    await use(quota, 9, 9)
    keyValue.fault = new Error('away')
    await use(quota, 1, 1)
    await refusalOf(use(quota, 0, 1))
  })
})

describe('bytes of bodies', () => {
  const mib = 1024 * 1024
  const gib = 1024 * mib
  const use = (
    quota: ReturnType<typeof gateway>,
    body_bytes: number,
    counted = 1,
    monthly_quota: number | null = 1000,
  ) => quota.reserve({ company_id, monthly_quota }, { counted, body_bytes }, now_ms)
  const bytes = () => keyValue.totals.get(bodyBytesKey(company_id, now_ms))

  it('have a cap of their own; a request that would cross it is refused whole, with what is used', async () => {
    const quota = gateway()
    for (let n = 0; n < 127; n += 1) await use(quota, 8 * mib)
    const refusal = await refusalOf(use(quota, 8 * mib + 1, 5))
    expect([refusal.status, refusal.code]).toEqual([429, 'cap_exceeded'])
    expect(refusal.message).toContain(`${127 * 8 * mib} of ${gib} bytes`)
    expect(refusal.headers).toEqual({
      'x-service-quota-used': '127',
      'x-service-quota-limit': '1000',
      'retry-after': String(november_left_s),
    })
    expect((await use(quota, 8 * mib)).headers['x-service-quota-used']).toBe('128')
    await refusalOf(use(quota, 1, 0))
  })

  it('are 4 KiB for each event of the quota, and at least 1 GiB; without a quota they are not counted', async () => {
    expect([0, 262_144, 1_000_000, null].map(bodyBytesMax)).toEqual([gib, gib, 4_096_000_000, null])
    await use(gateway(), 100 * gib, 1, null)
    expect(bytes()).toBeUndefined()
  })

  it('begin anew with the month, and are given back by a request that failed', async () => {
    const quota = gateway()
    await (await use(quota, gib)).giveBack()
    await use(quota, gib)
    await refusalOf(use(quota, 1))
    now_ms = Date.UTC(2026, 11, 1)
    await use(quota, gib)
    await refusalOf(use(quota, 1))
  })

  it('never pass the cap, whatever requests race at gateways that hold some ahead, and what is left can be used', async () => {
    keyValue = Object.assign(keyValue, { is_local: false })
    const request = fc.record({
      size: fc.oneof(fc.integer({ min: 1, max: 8 * mib }), fc.constant(50 * mib)),
      counted: fc.integer({ min: 0, max: 60 }),
      at: fc.nat(1),
      fails: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 60 }), async (requests) => {
        company_id = randomBytes(10).toString('hex')
        const gateways = [gateway(), gateway()]
        let held = 0
        let most = 0
        const send = async ({ size, counted, at, fails }: (typeof requests)[number]) => {
          const got = await use(gateways[at]!, size, counted).catch(() => null)
          if (got === null) return
          held += size
          most = Math.max(most, held)
          if (!fails) return
          held -= size
          await got.giveBack()
        }
        // Some one after the other, so that they are leased.
        for (const one of requests.slice(0, 10)) await send(one)
        await Promise.all(requests.slice(10).map(send))
        expect(most).toBeLessThanOrEqual(gib)
        await Promise.all(gateways.map((one) => one.close()))
        expect(bytes() ?? 0).toBe(held)
        const free = gateway()
        if (held < gib) await use(free, gib - held, 1, 100_000)
        await refusalOf(use(free, 1, 1, 100_000))
      }),
      { numRuns: 100 },
    )
  })

  it('are counted in few steps under load, beside those of events', async () => {
    keyValue = Object.assign(keyValue, { is_local: false })
    const quota = gateway()
    const steps = countSteps()
    for (let n = 0; n < 1000; n += 1) await use(quota, 20_000, 50, 10_000_000)
    expect(Math.max(...steps.values())).toBeLessThan(30)
  })

  it('cost a step a request in a flood beyond them', async () => {
    const quota = gateway()
    await use(quota, gib)
    const steps = countSteps()
    for (let n = 0; n < 100; n += 1) await refusalOf(use(quota, 1))
    expect([...steps.values()]).toEqual([100])
  })

  it('are judged by what is known while the counters are away', async () => {
    const quota = gateway()
    await use(quota, gib - 10)
    keyValue.fault = new Error('away')
    await use(quota, 10)
    await refusalOf(use(quota, 1))
  })

  it('are logged once when they are used up', async () => {
    const quota = gateway()
    await use(quota, gib)
    for (let n = 0; n < 3; n += 1) await refusalOf(use(quota, 1))
    expect(lines.map(({ company_id, used }) => [company_id, used])).toEqual([[company_id, gib]])
  })
})

it('counts what it could not give back because the counters were away', async () => {
  const registry = new Registry()
  const failed = await gateway(registry).reserve({ company_id, monthly_quota: 10 }, events(7), now_ms)
  keyValue.fault = new Error('away')
  await failed.giveBack()
  expect(await registry.getSingleMetricAsString('tributary_quota_kept_events_total')).toContain(' 7')
})

it('keeps a month for 35 days after its end', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-quota-'))
  const kept = await openEmbeddedKeyValue({ dir, now })
  onTestFinished(async () => {
    await kept.close()
    await rm(dir, { recursive: true })
  })
  const logger = pino({ level: 'silent' })
  const quota = createQuota({ keyValue: kept, breaker: countersBreaker(now), logger, registry: new Registry() })
  await quota.reserve({ company_id, monthly_quota: 10 }, events(7), november)
  now_ms = Date.UTC(2026, 11, 1 + 35) - 1
  expect(await kept.get(quotaKey(company_id, november))).toBe(7)
  now_ms += 1
  expect(await kept.get(quotaKey(company_id, november))).toBeNull()
})

it('says once that 80 and once that 100 percent are used', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 100 }
  for (let n = 0; n < 20; n += 1) await quota.reserve(company, events(5), now_ms)
  for (let n = 0; n < 3; n += 1) await refusalOf(quota.reserve(company, events(5), now_ms))
  expect(lines.map(({ percent, used }) => ({ percent, used }))).toEqual([
    { percent: 80, used: 80 },
    { percent: 100, used: 100 },
  ])
  expect(lines[0]?.company_id).toBe(company_id)
})

it('says once how much is used when a request does not fit any more', async () => {
  const quota = gateway()
  const company = { company_id, monthly_quota: 100 }
  await quota.reserve(company, events(70), now_ms)
  await refusalOf(quota.reserve(company, events(50), now_ms))
  await refusalOf(quota.reserve(company, events(50), now_ms))
  await quota.reserve(company, events(30), now_ms)
  expect(lines.map(({ percent }) => percent)).toEqual([70, 80, 100])
})
