import { CvSchemaDraft } from '@tributary/contracts/postback/cv-schema'
import { expect, test } from 'vitest'
import { findSchemaChanges } from '../../src/postback/schema-changes.ts'

const read = (...postbacks: object[]) => CvSchemaDraft.parse({ postbacks }).postbacks
const first = { postback_sequence_index: 0, window_hours: 48 }
const opened = { value: 0, name: 'opened' }
const bought = { value: 10, name: 'bought', revenue_min_usd: 1 }

test('a change of a schema is told by index and value, whatever the order of both', () => {
  const before = read({ ...first, fine: [bought, opened], coarse: [{ value: 'high', name: 'h' }] })
  const after = read(
    { postback_sequence_index: 1, window_hours: 168, coarse: [{ value: 'low', name: 'l' }] },
    {
      ...first,
      lock_window: true,
      fine: [
        { value: 2, name: 'shared' },
        { ...bought, revenue_max_usd: 5 },
      ],
    },
  )
  const window = { window_hours: 48, lock_window: false }
  expect(findSchemaChanges(before, after)).toEqual([
    {
      ...{ postback_sequence_index: 0, part: 'postback', value: null },
      ...{ before: window, after: { ...window, lock_window: true } },
    },
    { postback_sequence_index: 0, part: 'fine', value: 0, before: opened, after: null },
    { postback_sequence_index: 0, part: 'fine', value: 2, before: null, after: { value: 2, name: 'shared' } },
    {
      ...{ postback_sequence_index: 0, part: 'fine', value: 10 },
      ...{ before: bought, after: { ...bought, revenue_max_usd: 5 } },
    },
    { postback_sequence_index: 0, part: 'coarse', value: 'high', before: { value: 'high', name: 'h' }, after: null },
    {
      ...{ postback_sequence_index: 1, part: 'postback', value: null, before: null },
      after: { window_hours: 168, lock_window: false },
    },
    { postback_sequence_index: 1, part: 'coarse', value: 'low', before: null, after: { value: 'low', name: 'l' } },
  ])
})

test('order, and fields that say nothing, are no change', () => {
  const before = read({ ...first, fine: [opened, bought] })
  const after = read({ ...first, lock_window: false, fine: [bought, { ...opened, event_name: null }], coarse: [] })
  expect(findSchemaChanges(before, after)).toEqual([])
})
