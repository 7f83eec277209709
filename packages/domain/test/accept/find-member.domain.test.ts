import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { findMember } from '../../src/accept/find-member.ts'

const name = 'transaction-id'
const find = (json: string) => findMember(Buffer.from(json), name)

/** What JSON.parse makes of it. */
function expected(json: string): string | undefined | null {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    const member = Object.getOwnPropertyDescriptor(value, name)?.value
    return typeof member === 'string' ? member : undefined
  } catch {
    return null
  }
}

const names = fc.constantFrom(name, 'transaction\\u002did', 'transaction_id', '', '__proto__', '\\"', 'ä')
const members = fc.array(
  fc.tuple(
    names,
    fc.oneof(
      fc.json(),
      fc.string().map((text) => JSON.stringify(text)),
    ),
  ),
)
const objects = members.map((all) => `{${all.map(([key, value]) => `"${key}" :${value}`).join(' ,\n')}}`)

it('finds what JSON.parse finds, in JSON and in what is nearly JSON', () => {
  const broken = fc.tuple(
    objects,
    fc.nat(),
    fc.nat(3),
    fc.constantFrom('', ',', ']', '}', '{', '[', ':', '"', ' ', '0'),
  )
  const cut = broken.map(([json, at, length, put]) => {
    const place = at % (json.length + 1)
    return json.slice(0, place) + put + json.slice(place + length)
  })
  fc.assert(
    fc.property(fc.oneof(objects, cut, fc.json()), (json) => {
      expect(find(json)).toBe(expected(json))
    }),
    { numRuns: 5000 },
  )
})

test.each([
  `{"${name}":"a","${name}":"b"}`,
  `{"${name}":"a","${name}":1}`,
  `{"${name}":{"${name}":"inner"}}`,
  `{"x":{"${name}":"inner"},"${name}":"\\ud800\\n\\""}`,
  `{"a":[{},[],[{}],{"b":[]}],"${name}":"a"}`,
  ...['{"a":[1,]}', '{"a":[,]}', '{"a":{,}}', '{"a":1,}', '{"a":[}', '{"a":{]}', '{"a"}', '{"a":}', '{,}', '{'],
  ...['{}x', '{}{}', ' {} ', '{"a":01}', '{"a":tru}', '{"a":1 2}', '{a:1}', '{"a":[1 2]}', '{"a":{"b" 1}}', '\u00a0{}'],
])('agrees with JSON.parse about %s', (json) => {
  expect(find(json)).toBe(expected(json))
})

test.each(['[', '{"a":'])('walks 60,000 levels of %s without recursion, open and closed', (open) => {
  const levels = 60_000
  const close = open === '[' ? ']' : '}'
  expect(find(`{"a":${open.repeat(levels)}`)).toBe(null)
  const closed = `${open.repeat(levels)}1${close.repeat(levels)}`
  expect(find(`{"a":${closed},"${name}":"t"}`)).toBe('t')
  expect(find(`{"a":${closed}${close}}`)).toBe(null)
  expect(find(`{"a":${closed},"b":${closed},"${name}":"t"}`)).toBe('t')
})
