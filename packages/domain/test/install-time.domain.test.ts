import { installTime } from '@tributary/domain/install-time'
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
