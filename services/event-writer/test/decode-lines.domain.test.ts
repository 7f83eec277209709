import { type EventRow, eventRowColumns } from '@tributary/contracts/rows'
import { expect, test } from 'vitest'
import { lineOf } from '../src/decode-lines.ts'

test('a line holds every column in the order of the insert', () => {
  const row = Object.fromEntries(eventRowColumns.map((column) => [column, `value of ${column}`])) as unknown as EventRow
  expect(JSON.parse(lineOf(row))).toEqual(eventRowColumns.map((column) => `value of ${column}`))
})
