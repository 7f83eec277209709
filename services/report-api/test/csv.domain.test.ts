import { csvLine } from '@tributary/service-kit/http/csv'
import { expect, test } from 'vitest'
import { isKnown, weakTag } from '../src/answers/etag.ts'

test.each([
  ['plain', 'plain'],
  ['', ''],
  ['a,b', '"a,b"'],
  ['a "b"', '"a ""b"""'],
  ['a\nb', '"a\nb"'],
  ['a\r\nb', '"a\r\nb"'],
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  ['=A1,"x"', `"'=A1,""x"""`],
  ['a=1', 'a=1'],
  [' =1', "' =1"],
  ['   @SUM(A1)', "'   @SUM(A1)"],
  ['\u00a0=1', "'\u00a0=1"],
  ['\u3000＝1', "'\u3000＝1"],
  ['＝1', "'＝1"],
  ['＋1', "'＋1"],
  ['－1', "'－1"],
  ['＠SUM(A1)', "'＠SUM(A1)"],
  ['\n=1', `"'\n=1"`],
  ['\u0000=1', "'\u0000=1"],
  ['\t', "'\t"],
  ['\ufeff=1', "'\ufeff=1"],
  ['\ufeffplain', "'\ufeffplain"],
  ['\u200b=1', "'\u200b=1"],
  ['\u200d1', "'\u200d1"],
  ['\u2060=1', "'\u2060=1"],
  [' \u200b \ufeff=1', "' \u200b \ufeff=1"],
  [' plain', ' plain'],
  ['', ''],
  ['２=1', '２=1'],
  ["'=1", "'=1"],
  ['größe 🎉', 'größe 🎉'],
  [-1.5, '-1.5'],
  [0, '0'],
  [{ 12: 20, 31: 6 }, '"{""12"":20,""31"":6}"'],
  [{}, '{}'],
  [undefined, ''],
  [null, ''],
])('the cell %j is written as %j', (value, text) => {
  expect(csvLine([value])).toBe(`${text}\r\n`)
})

test('a line has all cells and ends with CRLF', () => {
  expect(csvLine(['day', 'a,b', 3])).toBe('day,"a,b",3\r\n')
})

test('a tag is weak and known by itself, in a list, and by *; no other tag is', () => {
  const tag = weakTag('some rows')
  expect(tag).toMatch(/^W\/"[\w-]{20,}"$/)
  for (const header of [tag, tag.slice(2), `"x", ${tag}`, `${tag},W/"y"`, '*', ' * ']) {
    expect(isKnown(tag, header), header).toBe(true)
  }
  for (const header of [undefined, '', weakTag('others'), '"x"', tag.replaceAll('"', ''), `"*"`]) {
    expect(isKnown(tag, header), header).toBe(false)
  }
})
