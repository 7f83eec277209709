import { expect, test } from 'vitest'
import { describeRebuilt, showReading } from '../../src/engines/show-reading.ts'

const nothing = { tables: [], swapped: false }

test('a rebuild names the first audit objects that it could not read', () => {
  const { reading, doubts } = showReading(false)
  expect(doubts()).toEqual({})
  for (let n = 0; n < 25; n += 1) reading.doubt('unreadable_object', 1, `audit/${n}.gz`)
  reading.doubt('unreadable_object', 1, 'audit/0.gz')
  reading.doubt('unreadable_object', 1, null)
  reading.doubt('minted_id', 3, 'audit/whole.gz')
  const keys = Array.from({ length: 20 }, (_, n) => `audit/${n}.gz`)
  expect(doubts()).toEqual({ unknown_reasons: { unreadable_object: 27, minted_id: 3 }, unreadable_objects: keys })
  const lines = describeRebuilt(nothing, doubts()).split('\n')
  expect(lines.slice(2, 5)).toEqual(['  unreadable_object  27', '  minted_id  3', '    audit/0.gz'])
})
