import { expect, test } from 'vitest'
import { lines, list, table } from '../src/output.ts'

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

test('a list for a person leaves out columns that no row fills; a program gets every column', () => {
  const wide = [
    ['a', null, 1, undefined, ''],
    ['b', null, null, undefined, ''],
  ]
  const heads = ['id', 'campaign', 'hours', 'note', 'end']
  expect(list(heads, wide, true).split('\n')).toEqual(['id  hours', '---------', 'a       1', 'b       -'])
  expect(list(heads, wide, false).split('\n')[1]).toBe('a\t-\t1\t-\t')
  expect(list(heads, [], true).split('\n')[0]).toBe('id  campaign  hours  note  end')
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
