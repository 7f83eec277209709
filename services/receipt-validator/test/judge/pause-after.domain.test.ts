import { limits } from '@tributary/contracts/limits'
import type { JudgedReceipt } from '@tributary/contracts/receipt/judged-receipt'
import { expect, test } from 'vitest'
import { pauseAfter } from '../../src/judge/pause-after.ts'

const long_ms = limits.receipt_tries_ms_max
const away = { verdict: 'unverified', reason: 'store_away', store: 'apple' } as const
const pauseOf = (
  tries: number,
  judged: Pick<JudgedReceipt, 'verdict' | 'reason' | 'store'>,
  left_ms = long_ms,
  rest_ms = 0,
) => pauseAfter({ tries, left_ms }, judged, new Map(rest_ms === 0 ? [] : [['apple', rest_ms]]))

test('while a store is away a receipt comes again after 1 s, doubled up to 60 s', () => {
  const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 5000].map((tries) => pauseOf(tries, away)! / 1000)
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
})

test.each(['no_credentials', 'pending_purchase'] as const)(
  '%s comes again after a minute, doubled up to an hour',
  (reason) => {
    const pauses = [1, 2, 3, 6, 7, 5000].map((tries) => pauseOf(tries, { ...away, reason })! / 60_000)
    expect(pauses).toEqual([1, 2, 4, 32, 60, 60])
    expect(pauseOf(1, { ...away, reason }, long_ms, 3_000_000)).toBe(60_000)
  },
)

test('a receipt does not come again before its store has rested, whatever another one does', () => {
  expect(pauseOf(1, away, long_ms, 32_000)).toBe(32_000)
  expect(pauseOf(7, away, long_ms, 32_000)).toBe(60_000)
  expect(pauseOf(1, { ...away, store: 'google' }, long_ms, 32_000)).toBe(1000)
})

test('the last try is at the end of 72 hours, and its verdict is final', () => {
  expect(long_ms).toBe(72 * 3_600_000)
  expect(pauseOf(5000, away, 10)).toBe(10)
  for (const left_ms of [0, -1, -long_ms]) {
    for (const reason of ['store_away', 'no_credentials', 'pending_purchase'] as const)
      expect(pauseOf(1, { ...away, reason }, left_ms, 32_000)).toBeNull()
  }
})

test.each(['valid', 'invalid', 'sandbox'] as const)('%s is final at once', (verdict) => {
  expect(pauseOf(1, { verdict, reason: null, store: 'apple' })).toBeNull()
})
