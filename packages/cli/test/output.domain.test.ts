import { expect, test } from 'vitest'
import { lines, table } from '../src/output.ts'

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

test.each([
  ['an escape sequence', '\u001b[2J', '?[2J'],
  ['text turned around', 'a\u202etxt.exe', 'a?txt.exe'],
  ['a character without width', 'ad\u200bmin', 'ad?min'],
])('no text that a tenant chose acts on the terminal: %s', (_what, text, shown) => {
  expect(table(['name'], [[text]], false)).toBe(`name\n${shown}`)
  expect(table(['name'], [[text]], true)).toContain(`\n${shown}`)
  expect(lines({ name: text })).toBe(`name  ${shown}`)
})
