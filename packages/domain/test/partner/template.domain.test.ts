import type { PostbackContent } from '@tributary/contracts/partner-postback'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fillTemplate, postbackBody, readTemplate } from '../../src/partner/template.ts'

const content: PostbackContent = {
  ...{ click_id: 'c', ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
  ...{ install_uuid: 'i', event_name: 'purchase', revenue: 4.99, currency: 'USD', event_ts_ms: 1, reject_reason: null },
}
const read = (text: string) => {
  const template = readTemplate(text)
  if (typeof template === 'string') throw new Error(template)
  return template
}
const fill = (text: string, of: Partial<PostbackContent> = {}) => fillTemplate(read(text), { ...content, ...of })

test.each([
  ['https://e.com/{nope}', '{nope} is no macro'],
  ['https://e.com/{}', '{} is no macro'],
  ['https://{sub1}.e.com/', 'path and query only'],
  ['{sub1}://e.com/', 'path and query only'],
  ['https://e.com:{sub1}/', 'path and query only'],
  ['https://{sub1}:x@e.com/', 'path and query only'],
  ['https://e.com/{sub1', 'A brace'],
  ['https://e.com/}', 'A brace'],
  ['https://e.com/{{sub1}}', 'A brace'],
  ['https://e.com/#x', 'fragment'],
  ['https:/e.com/', 'absolute'],
  ['//e.com/', 'absolute'],
  ['/a', 'absolute'],
  ['', 'ASCII'],
  ['https://e.com/ü', 'ASCII'],
  ['https://e.com/a b', 'ASCII'],
  ['https://e.com/\r\nx', 'ASCII'],
  ['https://e.com/a\\b', 'backslash'],
  ['https://e.com\\@10.0.0.1/', 'backslash'],
  ['https://user:100%@e.com/', 'well encoded'],
  ['ftp://e.com/', 'https'],
  ['javascript://e.com/', 'https'],
  ['https://2130706433/', 'four decimal'],
  ['https://0x7f000001/', 'four decimal'],
  ['https://0177.0.0.1/', 'four decimal'],
  ['https://127.1/', 'four decimal'],
  ['https://8.8.2056/', 'four decimal'],
  ['https://%31%30.0.0.1/', 'four decimal'],
])('%j is refused, and the message says why', (text, why) => {
  expect(readTemplate(text)).toContain(why)
})

test('values are filled in, absent ones empty, and dots alone are no step of the path', () => {
  expect(fill('https://e.com')).toBe('/')
  expect(fill('https://e.com?a={click_id}')).toBe('/?a=c')
  expect(fill('https://e.com/a/{ext_click_id}/?r={revenue}&n={event_ts_ms}')).toBe('/a//?r=4.99&n=1')
  expect(fill('https://e.com/{sub1}/{sub2}/x', { sub1: '..', sub2: '.' })).toBe('/%2E%2E/%2E/x')
})

test('a body has every field, strings as sent, numbers as numbers, absent ones null', () => {
  expect(postbackBody({ method: 'GET' }, content)).toBe('')
  expect(JSON.parse(postbackBody({ method: 'POST' }, content))).toEqual(content)
})

test('user and password of a template are sent apart, decoded', () => {
  expect(read('https://us%3Aer:p%40ss@e.com/a')).toMatchObject({ credentials: 'us:er:p@ss', path: '/a' })
  expect(read('https://us:p@e.com/a').origin.href).toBe('https://e.com/')
})

const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 4096 }),
  fc.constantFrom(
    '\r\nX-Evil: 1',
    '"},{"a":"',
    '&event=paid',
    '/../../admin',
    '#x',
    '@evil.com/',
    '%0d%0a',
    '\ud800',
    '{sub2}',
    "'(*)!",
  ),
)

test('whatever a value is, it is one value: of a segment, of a parameter, of a member of the body', () => {
  fc.assert(
    fc.property(hostile, (sub1) => {
      const path = fill('https://e.com/a/{sub1}/b?x={sub1}&y=1', { sub1, sub2: 'other' })
      expect(path).toMatch(/^[!-~]*$/)
      const notified = `${sub1}`.toWellFormed()
      const [, segment, last] = /^\/a\/([^/?#]*)\/b\?(.*)$/.exec(path)!
      expect(decodeURIComponent(segment!)).toBe(notified)
      const parameters = new URLSearchParams(last)
      expect([...parameters.keys()]).toEqual(['x', 'y'])
      expect(parameters.get('x')).toBe(notified)
      expect(JSON.parse(postbackBody({ method: 'POST' }, { ...content, sub1 }))).toEqual({ ...content, sub1 })
    }),
  )
})
