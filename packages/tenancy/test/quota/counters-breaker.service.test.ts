import { expect, it } from 'vitest'
import { countersBreaker } from '../../src/quota/counters-breaker.ts'

it.each([60_000, 3_600_000, 86_400_000])(
  'tries again at once when the clock was %i ms ahead and is corrected',
  async (ahead_ms) => {
    let now_ms = ahead_ms
    const breaker = countersBreaker(() => now_ms)
    expect(await breaker(() => Promise.reject(new Error('away')))).toBeNull()
    now_ms = 0
    expect(await breaker(async () => 'counted')).toBe('counted')
  },
)

it('lets one request at a time find out whether the counters are back, after growing pauses', async () => {
  let now_ms = 0
  let tries = 0
  const breaker = countersBreaker(() => now_ms)
  const fails = () => {
    tries += 1
    return Promise.reject(new Error('away'))
  }
  await Promise.all(Array.from({ length: 20 }, () => breaker(fails))) // cut off together: one failure
  const triesAt: number[] = []
  for (now_ms = 0; now_ms < 20_000; now_ms += 100) {
    const before = tries
    await Promise.all(Array.from({ length: 5 }, () => breaker(fails)))
    if (tries > before) triesAt.push(now_ms)
    expect(tries - before).toBeLessThanOrEqual(1)
  }
  expect(triesAt).toEqual([1000, 3000, 7000, 12_000, 17_000])
  now_ms = 22_000
  expect(await breaker(async () => 'counted')).toBe('counted')
  expect(await Promise.all([breaker(async () => 1), breaker(async () => 2)])).toEqual([1, 2])
})
