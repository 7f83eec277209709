import type { Envelope } from '@tributary/contracts/envelope'
import type { EventRow } from '@tributary/contracts/rows'
import { toEventRow } from '@tributary/domain/event-row'
import { expect, test } from 'vitest'
import { dropDuplicates, type KnownKey, keysToLookUp } from '../../src/events/drop-duplicates.ts'

const topic = 'events.accepted.v1'
const range = { topic, partition: 0, from: 10, to: 19 }

function rowAt(offset: number, day: string, event_id = 'e', fields: Record<string, unknown> = {}): EventRow {
  const envelope = { app_id: 'app_1', install_uuid: 'i', received_at_ms: Date.parse(day) } as Envelope
  const strings = { sdk: '', sdk_platform: '', ip: '', user_agent: '', audit_key: '' }
  const event = { event_id, event_name: 'x', event_ts_ms: Date.parse(day), ...fields }
  return toEventRow({ ...envelope, ...strings }, event, { topic, partition: 0, offset })
}
const offsets = (rows: KnownKey[]) => rows.map(({ offset }) => offset)

test('the same key on the same or a neighbouring day is one event, and the first one counts', () => {
  const rows = [rowAt(10, '2026-03-02'), rowAt(11, '2026-03-02'), rowAt(12, '2026-03-01'), rowAt(13, '2026-03-03')]
  expect(offsets(dropDuplicates(rows, [], range))).toEqual([10])
})

test('a chain of days is compared with the events that count only', () => {
  const rows = [rowAt(10, '2026-03-01'), rowAt(11, '2026-03-02'), rowAt(12, '2026-03-03')]
  expect(offsets(dropDuplicates(rows, [], range))).toEqual([10, 12])
})

test('what earlier batches wrote counts before anything in this one', () => {
  const rows = [rowAt(10, '2026-03-01'), rowAt(11, '2026-03-03'), rowAt(12, '2026-03-01', 'other')]
  expect(offsets(dropDuplicates(rows, [rowAt(9, '2026-02-28')], range))).toEqual([11, 12])
})

test('two apps may use the same install and event id, in one batch and in the tables', () => {
  const other = { ...rowAt(11, '2026-03-01'), app_id: 'app_2' }
  expect(offsets(dropDuplicates([rowAt(10, '2026-03-01'), other], [], range))).toEqual([10, 11])
  expect(offsets(dropDuplicates([rowAt(10, '2026-03-01')], [{ ...other, offset: 9 }], range))).toEqual([10])
})

test('rows of this very batch that already landed are no duplicates, so that a retry sends the same block', () => {
  const rows = [rowAt(10, '2026-03-01'), rowAt(10, '2026-03-01'), rowAt(12, '2026-03-03')]
  const first = dropDuplicates(rows, [], range)
  expect(dropDuplicates(rows, first, range)).toEqual(first)
  const ends = [rowAt(range.from, '2026-03-01'), rowAt(range.to, '2026-03-04')]
  expect(dropDuplicates(ends, ends, range)).toEqual(ends)
  const elsewhere = { ...rowAt(10, '2026-03-01'), partition: 1 }
  expect(offsets(dropDuplicates(rows, [elsewhere], range))).toEqual([12])
})

test('an install is asked for once, an event for its day and both neighbours', () => {
  const asked = keysToLookUp([rowAt(10, '2026-03-01'), rowAt(11, '2026-03-01', 'e', { event_name: 'app_install' })])
  expect(asked.map(({ key_days }) => key_days)).toEqual([['2026-02-28', '2026-03-01', '2026-03-02'], ['1970-01-01']])
})
