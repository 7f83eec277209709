import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { auditLine } from '../../src/judge/audit-line.ts'

/** Heads as the gateway writes them: JSON up to the body. */
const head = fc
  .dictionary(fc.string(), fc.string({ unit: 'binary' }))
  .map((facts) => `{"x":${JSON.stringify(facts)},"body":`)
const body = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t', '\r\n ')).map(([value, space]) => {
  return Buffer.from(JSON.stringify(value, null, space))
})
/** The same bytes as a client may send them: not at all compressed, in one member, in two, in one of stored blocks. */
const wires: ((body: Buffer) => Buffer)[] = [
  (text) => text,
  (text) => gzipSync(text),
  (text) => Buffer.concat([gzipSync(text.subarray(0, 3)), gzipSync(text.subarray(3))]),
  (text) => gzipSync(text, { level: 0 }),
]

test('whatever the client sent, its line is one line that holds the same value', () => {
  fc.assert(
    fc.property(head, body, fc.constantFrom(...wires), (before, text, toWire) => {
      const line = gunzipSync(auditLine(before, toWire(text), text)).toString()
      expect(line.indexOf('\n')).toBe(line.length - 1)
      expect(JSON.parse(line)).toEqual(JSON.parse(`${before}${text}}`))
    }),
    { numRuns: 2000 },
  )
})

test("the client's own compressed bytes are taken, and give the same line as those that we compress", () => {
  fc.assert(
    fc.property(head, fc.jsonValue(), (before, value) => {
      const text = Buffer.from(JSON.stringify(value))
      const wire = gzipSync(text)
      const taken = auditLine(before, wire, text)
      expect(taken.includes(wire)).toBe(true)
      expect(gunzipSync(taken)).toEqual(gunzipSync(auditLine(before, text, text)))
    }),
  )
})

test('lines in a row are one gzip file', () => {
  const texts = ['{"a":1}', '[\n2]', '"3"'].map((text) => Buffer.from(text))
  const file = Buffer.concat(
    texts.map((text, n) => auditLine(`{"n":${n},"body":`, n === 0 ? gzipSync(text) : text, text)),
  )
  expect(gunzipSync(file).toString()).toBe('{"n":0,"body":{"a":1}}\n{"n":1,"body":[ 2]}\n{"n":2,"body":"3"}\n')
})
