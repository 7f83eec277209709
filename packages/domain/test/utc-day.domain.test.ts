import { utcDay } from '@tributary/domain/utc-day'
import fc from 'fast-check'
import { expect, test } from 'vitest'

test('the day of a time is its UTC date, whatever was asked before', () => {
  const time = fc.integer({ min: -(2 ** 40), max: Date.UTC(2100, 0, 1) })
  fc.assert(
    fc.property(time, fc.constantFrom(0, 1, -1, 86_400_000 - 1, 86_400_000), (at_ms, step_ms) => {
      for (const ms of [at_ms, at_ms + step_ms, Math.floor(at_ms / 86_400_000) * 86_400_000, at_ms])
        expect(utcDay(ms)).toBe(new Date(ms).toISOString().slice(0, 10))
    }),
  )
})
