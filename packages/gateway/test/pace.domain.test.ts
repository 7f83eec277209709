import { limits } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { createPace } from '../src/bodies/pace.ts'

/** When a body of so many bytes, which came at once and then stalled, is ended. */
function endedAfter(bytes: number): number {
  const from_ms = 7_000_000
  let now_ms = from_ms
  let ended = false
  const pace = createPace(() => now_ms)
  pace.watch(
    () => bytes,
    () => {
      ended = true
    },
  )
  for (; !ended; now_ms += 1000) pace.check()
  return now_ms - 1000 - from_ms
}

test('a body may pause when it begins; after that its average counts', () => {
  expect(endedAfter(0)).toBe(limits.slow_body_grace_ms)
  expect(endedAfter(5 * limits.body_bytes_per_s_min - 1)).toBe(5000)
  expect(endedAfter(5 * limits.body_bytes_per_s_min)).toBe(6000)
  expect(endedAfter(60 * limits.body_bytes_per_s_min)).toBe(61_000)
})
