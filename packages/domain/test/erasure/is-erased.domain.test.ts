import { expect, test } from 'vitest'
import { type EventTimes, isErased } from '../../src/erasure/is-erased.ts'
import { isGone, noTombstones } from '../../src/erasure/tombstones.ts'

const at = (time: string) => Date.parse(`2026-03-${time}Z`)
/** The install was erased at noon of the tenth. */
const mark_ms = at('10T12:00:00')
const before = at('09T08:00:00')
const after = at('11T08:00:00')

const cases: [string, EventTimes, boolean][] = [
  ['received and dated before the mark', { received_at_ms: before, event_ts_ms: before }, true],
  ['received before and dated after: a clock that runs ahead', { received_at_ms: before, event_ts_ms: after }, true],
  ['received after and dated before: a late event, a backfill', { received_at_ms: after, event_ts_ms: before }, true],
  ['received and dated after: a new life', { received_at_ms: after, event_ts_ms: after }, false],
  ['received at the mark', { received_at_ms: mark_ms, event_ts_ms: after }, true],
  ['dated at the mark', { received_at_ms: after, event_ts_ms: mark_ms }, true],
  ['a millisecond after the mark', { received_at_ms: mark_ms + 1, event_ts_ms: mark_ms + 1 }, false],
  ['without a time, sent before', { received_at_ms: after, sent_at_ms: before }, true],
  ['without a time, sent after', { received_at_ms: after, sent_at_ms: after }, false],
  [
    'dated after, sent before: its own time counts',
    { received_at_ms: after, event_ts_ms: after, sent_at_ms: before },
    false,
  ],
  [
    'dated before, sent after: its own time counts',
    { received_at_ms: after, event_ts_ms: before, sent_at_ms: after },
    true,
  ],
  ['with the received time alone', { received_at_ms: after }, false],
  ['with the received time alone, before', { received_at_ms: before }, true],
  ['a sent time that is none', { received_at_ms: after, sent_at_ms: 0 }, false],
]

test.each(cases)('an erasure judges an event that is %s', (_name, times, erased) => {
  expect(isErased(times, mark_ms)).toBe(erased)
})

test('an install that was never erased keeps everything', () => {
  expect(isErased({ received_at_ms: 0, event_ts_ms: 0 }, null)).toBe(false)
})

test('what an install was found by is gone with all that was received up to the mark', () => {
  const tombstones = { ...noTombstones, markOf: (_app: string, uuid: string) => (uuid === 'erased' ? mark_ms : null) }
  const gone = (install_uuid: string, received_at_ms: number) =>
    isGone(tombstones, { app_id: 'app_1', install_uuid, received_at_ms })
  expect([mark_ms - 1, mark_ms, mark_ms + 1].map((ms) => gone('erased', ms))).toEqual([true, true, false])
  expect(gone('another', 0)).toBe(false)
})
