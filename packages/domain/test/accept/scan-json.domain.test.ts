import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { skipValue } from '../../src/accept/scan-json.ts'
import { damaged } from './damaged.ts'

/** What JSON.stringify would never write, and what is nearly JSON. */
const odd = fc.constantFrom(
  ...['1E3', '-0', '0.1e-7', '1e+400', '01', '-', '1.', '.5', '1e', '+1', '0x1', '--1', '1.e2', 'NaN', 'Infinity'],
  ...[
    '"\\ud800"',
    '"\\/"',
    '"\\u12g4"',
    '"\\u123g"',
    '"\\x"',
    '"\t"',
    '"\tn"',
    '"\u007f"',
    '"a',
    '"\\"',
    'tru',
    'truex',
    'nul',
    'TRUE',
    'undefined',
  ],
  ...[
    '[1,]',
    '[,]',
    '[1 2]',
    '[1;2]',
    '{"a":1;"b":2}',
    '{"a":1,}',
    '{"a"}',
    '{"a" 1}',
    '{1:2}',
    "{'a':1}",
    '{"a":1,"a":2}',
    '{ "a" :\n[ ] }',
    '[\u00a0]',
  ],
)
const text = fc.oneof(
  fc.json(),
  odd,
  fc.tuple(odd, odd).map(([a, b]) => `[${a}, {"x":${b}}]`),
)

test('tells JSON text from other text as JSON.parse does', () => {
  const seen = { json: 0, other: 0 }
  fc.assert(
    fc.property(
      fc.oneof(
        text.map((json) => Buffer.from(json)),
        damaged(text),
      ),
      (bytes) => {
        fc.pre(isUtf8(bytes))
        const found = skipValue(bytes, 0, 100) === bytes.length
        // White space around a value is not part of it.
        expect(found).toBe(isJson(bytes.toString()) && !/^\s|\s$/.test(bytes.toString()))
        seen[found ? 'json' : 'other'] += 1
      },
    ),
    { numRuns: 5000 },
  )
  expect(Math.min(seen.json, seen.other)).toBeGreaterThan(500)
})

test.each([
  ['1', 0],
  ['{}', 1],
  ['[[1]]', 2],
  ['{"a":{"b":[]}}', 3],
])('%s nests %i deep', (json, depth) => {
  expect(skipValue(Buffer.from(json), 0, depth)).toBe(json.length)
  if (depth > 0) expect(skipValue(Buffer.from(json), 0, depth - 1)).toBe(-1)
})

test('hostile nesting ends at the bound, not at the end of the stack', () => {
  expect(skipValue(Buffer.from('['.repeat(1_000_000)), 0, 8)).toBe(-1)
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
