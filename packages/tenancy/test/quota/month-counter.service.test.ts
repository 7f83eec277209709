import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { countersBreaker } from '../../src/quota/counters-breaker.ts'
import { createMonthCounter, lease_events_max, lease_ms, type MonthCounter } from '../../src/quota/month-counter.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const key = 'quota'
const ttl_ms = 1_000_000

function open(start = 0) {
  const keyValue = memoryKeyValue(Date.now)
  keyValue.totals.set(key, start)
  const steps = vi.spyOn(keyValue, 'addCapped')
  const lost = { kept: 0, alone: 0 }
  const metrics = {
    alone: { inc: (n: number) => Object.assign(lost, { alone: lost.alone + n }) },
    kept: { inc: (n: number) => Object.assign(lost, { kept: lost.kept + n }) },
  }
  const breaker = () => countersBreaker(Date.now)
  const counter = (lease_max = lease_events_max) =>
    createMonthCounter({ key, keyValue, breaker: breaker(), lease_max, metrics })
  /** A process of its own, whose steps reach the counters until it crashes. */
  function gateway() {
    const link = { broken: false }
    const addCapped: typeof keyValue.addCapped = (...step) =>
      link.broken ? Promise.reject(new Error('crashed')) : keyValue.addCapped(...step)
    const made = createMonthCounter({
      key,
      keyValue: { addCapped },
      breaker: breaker(),
      lease_max: lease_events_max,
      metrics,
    })
    return { ...made, crash: () => Object.assign(link, { broken: true }) }
  }
  return { keyValue, steps, lost, counter, gateway, total: () => keyValue.totals.get(key) ?? 0 }
}

const takeTimes = async (counter: MonthCounter, times: number, n: number, cap: number | null) => {
  const totals: (number | null)[] = []
  for (let i = 0; i < times; i += 1) totals.push(await counter.take(n, cap, ttl_ms))
  return totals
}

it('counts a busy company in few steps, tells each request its own total, and holds nothing a second later', async () => {
  for (const cap of [null, 10_000_000]) {
    const { steps, counter, total } = open()
    const totals = await takeTimes(counter(), 1000, 50, cap)
    expect(totals).toEqual(totals.map((_, i) => 50 * (i + 1)))
    expect(steps.mock.calls.length).toBeLessThan(30)
    await vi.advanceTimersByTimeAsync(lease_ms)
    expect(total()).toBe(50_000)
  }
})

it('takes a step for each request that comes alone, of a small quota, or in the last fifth of one', async () => {
  const alone = open()
  const counter = alone.counter()
  for (let i = 0; i < 10; i += 1) {
    await counter.take(50, null, ttl_ms)
    await vi.advanceTimersByTimeAsync(lease_ms)
  }
  expect(alone.steps.mock.calls.length).toBe(10)
  for (const [start, cap] of [
    [0, 99_999],
    [800_000, 1_000_000],
  ] as const) {
    const { steps, counter, total } = open(start)
    await takeTimes(counter(), 100, 10, cap)
    expect(steps.mock.calls.length).toBe(100)
    expect(total()).toBe(start + 1000)
  }
  const unsettled = open()
  await takeTimes(unsettled.counter(0), 100, 10, null)
  expect(unsettled.steps.mock.calls.length).toBe(100)
})

it('goes on with what it holds while the counters are away, then with what it knows', async () => {
  const { keyValue, counter, lost, total } = open()
  const here = counter()
  await takeTimes(here, 20, 10, null)
  const held = total() - 200
  expect(held).toBeGreaterThan(0)
  keyValue.fault = new Error('away')
  expect((await takeTimes(here, 100, 10, null)).at(-1)).toBe(1200)
  expect(lost.alone).toBeGreaterThanOrEqual(1000 - held)
  await vi.advanceTimersByTimeAsync(lease_ms)
  expect(lost.kept).toBeLessThan(10)
})

/** What happens at one of three gateways. */
const event = fc.oneof(
  { weight: 12, arbitrary: fc.record({ what: fc.constant('take' as const), n: fc.integer({ min: 1, max: 1000 }) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('pass' as const), n: fc.integer({ min: 1, max: lease_ms }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('crash' as const), n: fc.constant(0) }) },
)
const at = fc.nat({ max: 2 })
const burst = fc.integer({ min: 1, max: 30 })

it('never passes the cap, and a second later the total is what was taken, but for what a crash stranded', async () => {
  const seen = { leased: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(event, at, burst, fc.boolean()), { minLength: 1, maxLength: 40 }),
      fc.constantFrom(null, 100_000, 100_500, 120_000),
      fc.constantFrom(0, 70_000, 79_000, 95_000),
      async (events, cap, start) => {
        const { gateway: process, total } = open(start)
        const gateways = [process(), process(), process()]
        let accepted = start
        let crashes = 0
        for (const [{ what, n }, gateway, times, fails] of events) {
          const here = gateways[gateway]!
          if (what === 'pass') await vi.advanceTimersByTimeAsync(n)
          else if (what === 'crash') {
            here.crash()
            crashes += 1
            gateways[gateway] = process()
          } else {
            const answers = await Promise.all(Array.from({ length: times }, () => here.take(n, cap, ttl_ms)))
            const taken = answers.filter((answer) => answer !== null).length
            seen.refused += times - taken
            accepted += taken * n
            if (fails && taken > 0) {
              await here.giveBack(n, ttl_ms)
              accepted -= n
            }
          }
          if (total() > accepted) seen.leased += 1
          expect(total()).toBeGreaterThanOrEqual(accepted)
          if (cap !== null) expect(total()).toBeLessThanOrEqual(cap)
        }
        await vi.advanceTimersByTimeAsync(lease_ms)
        expect(total() - accepted).toBeGreaterThanOrEqual(0)
        expect(total() - accepted).toBeLessThanOrEqual(crashes * (cap === null ? lease_events_max : cap / 100))
      },
    ),
    { numRuns: 300 },
  )
  expect(seen.leased).toBeGreaterThan(100)
  expect(seen.refused).toBeGreaterThan(100)
})

it('gives its lease back when it is closed', async () => {
  const { counter, total } = open()
  const closing = counter()
  await takeTimes(closing, 10, 50, null)
  expect(total()).toBeGreaterThan(500)
  await closing.close()
  expect(total()).toBe(500)
})

it('lets a reconciliation take off all that is stranded, while leases come and go', async () => {
  const stranded = 1000
  const { counter, keyValue, total } = open(stranded)
  await keyValue.mark(key, 'a')
  const busy = counter()
  for (let second = 0; second < 3; second += 1) {
    await takeTimes(busy, 10, 50, null)
    await vi.advanceTimersByTimeAsync(lease_ms)
  }
  expect(total()).toBe(stranded + 1500)
  expect(await keyValue.reconcile(key, 0, 'a', ttl_ms)).toBe(1500)
})
