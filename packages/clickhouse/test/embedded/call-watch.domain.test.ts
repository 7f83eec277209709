import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { EngineStuck, look_ms, watchCalls } from '../../src/embedded/call-watch.ts'

const told: EngineStuck[] = []
const minute = 60_000
beforeEach(() => {
  told.length = 0
  vi.useFakeTimers()
})
afterEach(() => void vi.useRealTimers())

const watch = () => watchCalls((error) => told.push(error))
const never = () => new Promise<never>(() => {})

test('a call that never comes back ends at its limit, is told once, and takes all others with it', async () => {
  const run = watch()
  const outcomes = Promise.allSettled([run('an insert', minute, never), run('a command', 60 * minute, never)])
  await vi.advanceTimersByTimeAsync(minute)
  expect(told).toEqual([])
  await vi.advanceTimersByTimeAsync(look_ms)
  for (const outcome of await outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(EngineStuck) })
  await expect(run('a question', minute, async () => 1)).rejects.toThrow(/an insert has run for 65 s/)
  await vi.advanceTimersByTimeAsync(60 * minute)
  expect(told.map(({ message }) => message)).toEqual([
    'The embedded ClickHouse stands still: an insert has run for 65 s',
  ])
})

test('calls in time keep what they give and what they throw, however many there are', async () => {
  const run = watch()
  for (let n = 0; n < 100; n += 1) {
    const slow = run('a question', minute, () => new Promise((resolve) => setTimeout(resolve, minute - 1, n)))
    const failed = run('an insert', minute, () => Promise.reject(new Error('refused')))
    await expect(failed).rejects.toThrow('refused')
    await vi.advanceTimersByTimeAsync(minute)
    expect(await slow).toBe(n)
  }
  expect(told).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('a clock that jumps ends no call', async () => {
  const run = watch()
  const answer = Promise.withResolvers<number>()
  const call = run('an insert', minute, () => answer.promise)
  vi.setSystemTime(Date.now() + 60 * minute)
  await vi.advanceTimersByTimeAsync(look_ms)
  answer.resolve(1)
  expect(await call).toBe(1)
  expect(told).toEqual([])
})
