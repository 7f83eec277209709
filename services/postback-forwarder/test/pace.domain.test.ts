import { limits } from '@tributary/contracts/limits'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPace } from '../src/deliver/pace.ts'

const clock = { ms: 0 }
beforeEach(() => {
  clock.ms = Date.UTC(2026, 5, 1)
  vi.useFakeTimers()
})
afterEach(() => void vi.useRealTimers())

const target = (company_id: string, n = 0) => ({ company_id, app_id: `app_${company_id}`, partner: `p${n}` })
const quick = { ok: true, elapsed_ms: 10, retry_after_ms: null }
const failed = { ok: false, elapsed_ms: 10, retry_after_ms: null }

/** Begins what has room; gives back how many tries of each company that were. */
function begin(pace: ReturnType<typeof createPace>, targets: readonly ReturnType<typeof target>[]) {
  const begun: Record<string, number> = {}
  if (!pace.hasRoom()) return begun
  for (const { app_id, partner, max } of pace.share(targets)) {
    const found = targets.find((one) => one.app_id === app_id && one.partner === partner)!
    for (let n = 0; n < max; n += 1) pace.begin(found)
    begun[found.company_id] = (begun[found.company_id] ?? 0) + max
  }
  return begun
}

test('partners of one company that all stop to answer at once leave room for another company', () => {
  const pace = createPace(() => clock.ms)
  const slow = Array.from({ length: 100 }, (_, n) => target('slow', n))
  for (const one of slow) pace.begin(one)(quick)
  // They hold every try for its ten seconds, and there is always more for them.
  for (let second = 0; second < 9; second += 1) {
    for (let n = 0; n < 20; n += 1) begin(pace, slow)
    vi.advanceTimersByTime(limits.partner_slow_try_ms)
    clock.ms += limits.partner_slow_try_ms
  }
  expect(begin(pace, [...slow, target('other')])).toMatchObject({ other: 1 })
})

test('partners of a company that never answered leave room to those of its own that do', () => {
  const pace = createPace(() => clock.ms)
  const dead = Array.from({ length: 1000 }, (_, n) => target('a', n))
  const good = { ...target('a'), partner: 'good' }
  pace.begin(good)(quick)
  for (let second = 0; second < 9; second += 1) {
    for (let n = 0; n < 20; n += 1) begin(pace, dead)
    vi.advanceTimersByTime(limits.partner_slow_try_ms)
    clock.ms += limits.partner_slow_try_ms
  }
  // And as many ahead.
  const max = 2 * limits.partner_tries_at_once_max
  expect(pace.share([good])).toEqual([{ app_id: good.app_id, partner: 'good', max }])
})

test('partners that fail, however many, leave room to those that nobody has tried yet', () => {
  const pace = createPace(() => clock.ms)
  const dead = Array.from({ length: 2000 }, (_, n) => target(`${n % 50}`, n))
  for (const one of dead) pace.begin(one)(failed)
  clock.ms += limits.partner_breaker_ms
  // They hold every try for its ten seconds, and there is always more for them.
  for (let second = 0; second < 9; second += 1) {
    for (let n = 0; n < 20; n += 1) begin(pace, dead)
    const untried = Array.from({ length: 10 }, (_, n) => target('other', 10 * second + n))
    expect(begin(pace, [...dead, ...untried])).toMatchObject({ other: 10 })
    vi.advanceTimersByTime(limits.partner_slow_try_ms)
    clock.ms += limits.partner_slow_try_ms
  }
})

test('tries that fail together stop a partner once, not for a time that each of them doubles', () => {
  const pace = createPace(() => clock.ms)
  const one = target('a')
  pace.begin(one)(quick)
  const ends = Array.from({ length: limits.partner_tries_at_once_max }, () => pace.begin(one))
  for (const end of ends) end(failed)
  clock.ms += limits.partner_breaker_ms
  expect(pace.share([one])).toHaveLength(1)
  pace.begin(one)(failed)
  clock.ms += limits.partner_breaker_ms
  expect(pace.share([one])).toEqual([])
  clock.ms += limits.partner_breaker_ms
  expect(pace.share([one])).toHaveLength(1)
})

test('a clock that was a day ahead and is corrected stops no partner for that day', () => {
  const pace = createPace(() => clock.ms)
  const one = target('a')
  clock.ms += 86_400_000
  pace.begin(one)(failed)
  expect(pace.share([one])).toEqual([])
  clock.ms -= 86_400_000
  expect(pace.share([one])).toHaveLength(1)
})

test('what is taken ahead leaves places to others', () => {
  const pace = createPace(() => clock.ms)
  const draining = Array.from({ length: 10 }, (_, n) => target('a', n))
  for (const one of draining) pace.begin(one)(quick)
  const wanted = pace.share(draining)
  const taken = wanted.reduce((sum, { max }) => sum + max, 0)
  expect(taken).toBeLessThanOrEqual(limits.partner_fast_tries_max)
  const waits = wanted.flatMap(({ partner, max }) => {
    const one = draining.find((of) => of.partner === partner)!
    return Array.from({ length: max }, () => (pace.mayBegin(one) ? pace.begin(one) : pace.wait(one)))
  })
  expect(pace.share([...draining, target('b')]).reduce((sum, { max }) => sum + max, 0)).toBe(
    limits.partner_fast_tries_max - taken,
  )
  for (const end of waits) end(quick)
  expect(begin(pace, [...draining, target('b')])).toMatchObject({ b: 1 })
})

/** Takes and begins postbacks of partners that always have more, as the forwarder does. */
function drain(pace: ReturnType<typeof createPace>, elapsed_ms: number) {
  const waiting = new Map<string, (() => void)[]>()
  const begun = new Map<string, number>()
  function beginOne(one: ReturnType<typeof target>) {
    begun.set(one.company_id, (begun.get(one.company_id) ?? 0) + 1)
    const end = pace.begin(one)
    setTimeout(() => {
      end({ ...quick, elapsed_ms })
      const ahead = waiting.get(one.partner) ?? []
      if (ahead.length === 0 || !pace.mayBegin(one)) return
      ahead.shift()!()
      beginOne(one)
    }, elapsed_ms)
  }
  return {
    begun,
    look(targets: readonly ReturnType<typeof target>[]) {
      if (!pace.hasRoom()) return
      for (const { app_id, partner, max } of pace.share(targets)) {
        const one = targets.find((of) => of.app_id === app_id && of.partner === partner)!
        for (let n = 0; n < max; n += 1) {
          if (pace.mayBegin(one)) beginOne(one)
          else waiting.set(partner, [...(waiting.get(partner) ?? []), pace.wait(one)])
        }
      }
    },
  }
}

test('what waits for partners that stopped to answer takes no place from a partner that nobody has tried yet', () => {
  const pace = createPace(() => clock.ms)
  // As many as could wait in every fast place.
  const partners = limits.partner_fast_tries_max / limits.partner_tries_at_once_max
  const dead = Array.from({ length: partners }, (_, n) => target('a', n))
  for (const one of dead) pace.begin(one)(quick)
  const { look, begun } = drain(pace, limits.partner_try_ms_max)
  for (let elapsed_ms = 0; elapsed_ms < 5 * limits.partner_slow_try_ms; elapsed_ms += 10) {
    look(elapsed_ms < 2 * limits.partner_slow_try_ms ? dead : [...dead, target('b')])
    vi.advanceTimersByTime(10)
    clock.ms += 10
  }
  expect(begun.get('b')).toBe(1)
})
