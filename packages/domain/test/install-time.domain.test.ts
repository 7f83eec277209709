import { day_ms } from '@tributary/contracts/limits'
import { clockCorrection, installTime } from '@tributary/domain/install-time'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const received_at_ms = Date.UTC(2026, 2, 1)
const hour_ms = 3_600_000
const at = (source: string, ts_ms: number, sent_at_ms: number) =>
  installTime({
    source,
    received_at_ms,
    ts_ms: received_at_ms + ts_ms,
    sent_at_ms: sent_at_ms && received_at_ms + sent_at_ms,
  }) - received_at_ms

test.each([
  ['a right clock', -hour_ms, -50, -hour_ms + 50],
  ['a clock an hour fast', 0, hour_ms, -hour_ms],
  ['a clock an hour slow', -3 * hour_ms, -hour_ms, -2 * hour_ms],
  ['no sending time', -hour_ms, 0, -hour_ms],
  ['a clock 24 h off', -hour_ms, -24 * hour_ms, 0],
  ['a clock more than 24 h off', -hour_ms, -24 * hour_ms - 1, -hour_ms],
  ['a time after it was received', hour_ms, 0, 0],
  ['a time after it was sent', hour_ms, -50, 0],
])('an SDK with %s', (_what, ts_ms, sent_at_ms, expected) => {
  expect(at('sdk', ts_ms, sent_at_ms)).toBe(expected)
})

test('the time of a backend is not corrected, and never later than the receipt', () => {
  expect([at('s2s', hour_ms, 0), at('bulk', -hour_ms, hour_ms)]).toEqual([0, -hour_ms])
})

/** Anything that a gateway accepts: times up to 24 h ahead, and any clock. */
const clock = fc.record({
  source: fc.constantFrom('sdk', 's2s', 'bulk'),
  received_at_ms: fc.constant(received_at_ms),
  ts_ms: fc.integer({ min: received_at_ms - 400 * day_ms, max: received_at_ms + day_ms }),
  sent_at_ms: fc.oneof(
    fc.constant(0),
    fc.integer({ min: received_at_ms - 2 * day_ms, max: received_at_ms + 2 * day_ms }),
  ),
})

test('an event of the request and the time of its install never comes before it, and one of an SDK comes with it', () => {
  fc.assert(
    fc.property(clock, (facts) => {
      const age_ms = facts.ts_ms + clockCorrection(facts) - installTime(facts)
      expect(age_ms).toBeGreaterThanOrEqual(0)
      if (facts.source === 'sdk') expect(age_ms).toBe(0)
    }),
  )
})

test('a correction moves an event by 24 hours at most, and that of a backend not at all', () => {
  fc.assert(
    fc.property(clock, (facts) => {
      const correction_ms = clockCorrection(facts)
      expect(Math.abs(correction_ms)).toBeLessThanOrEqual(day_ms)
      if (facts.source !== 'sdk') expect(correction_ms).toBe(0)
    }),
  )
})
