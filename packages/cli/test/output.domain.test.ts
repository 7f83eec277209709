import { expect, test } from 'vitest'
import { table } from '../src/output.ts'

const head = ['name', 'events', 'note']
const rows = [
  ['Größe', 7, 'a'],
  ['日本', 12_345, null],
  ['x\u001b[31m', null, 'long'],
]

test('a table on a terminal has one rule under its headings, and numbers that end at the same place', () => {
  expect(table(head, rows, true).split('\n')).toEqual([
    'name    events  note',
    '--------------------',
    'Größe        7  a',
    '日本     12345  -',
    'x?[31m       -  long',
  ])
  expect(table(head, [], true).split('\n')).toEqual(['name  events  note', '------------------'])
})

test('elsewhere it is tab-separated lines', () => {
  expect(table(head, rows.slice(0, 1), false)).toBe('name\tevents\tnote\nGröße\t7\ta')
})
