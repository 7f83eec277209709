import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readBatch } from '../../src/judge/read-batch.ts'

/** Texts that try to look like the plain form, glued to JSON in every order, with duplicate and escaped keys. */
const pieces = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom(
    '[]',
    '[1]',
    '[{}]',
    '[{"a":"],\\"sent_at_ms\\":1}"}]',
    '[[1],[2]]',
    '1',
    '1e400',
    '-0',
    '007',
    'null',
  ),
  fc.constantFrom('"x"', '"]}"', '"\\ud800"', '[1],"events":[2]', '{"events":[3]}', '[1', ']', '1.5', '"\u00a0"'),
)
const key = fc.constantFrom('"events"', '"sent_at_ms"', '"\\u0065vents"', '"x"', '"events\\""', '"__proto__"')
const space = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom('', ' ', '\n', '\t') },
  { weight: 1, arbitrary: fc.constantFrom('\u00a0', '\v', '\ufeff') },
)
const member = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(fc.constant('"events"'), space, pieces, space) },
  fc.tuple(
    fc.constant('"sent_at_ms"'),
    space,
    fc.constantFrom('1', '0', '007', 'null', '1e3', '123456789012345'),
    space,
  ),
  fc.tuple(key, space, pieces, space),
)
const body = fc
  .tuple(space, fc.array(member, { minLength: 1, maxLength: 4 }), space)
  .map(([before, members, after]) => {
    const text = members.map(([name, left, value, right]) => `${left}${name}${right}:${left}${value}${right}`).join()
    return `${before}{${text}}${after}`
  })

/** The slow way: parse everything, ask for the shape. */
function readSlowly(text: string) {
  try {
    const value = JSON.parse(text)
    const sent = value.sent_at_ms ?? undefined
    if (!Array.isArray(value.events) || value.events.length < 1 || value.events.length > 500) return 'bad_batch_shape'
    if (sent !== undefined && typeof sent !== 'number') return 'bad_batch_shape'
    const rounded = Math.round(sent)
    return { events: value.events, sent_at_ms: Number.isSafeInteger(rounded) ? rounded : undefined }
  } catch {
    return 'bad_json'
  }
}

function read(text: string) {
  try {
    return readBatch(Buffer.from(text))
  } catch (error) {
    return (error as { code: string }).code
  }
}

test("a batch reads the same whether or not the client's own bytes are taken", () => {
  let plain = 0
  fc.assert(
    fc.property(body, (text) => {
      const expected = readSlowly(text)
      const got = read(text)
      if (typeof got === 'string') {
        expect(got).toBe(expected)
        return
      }
      expect({ events: got.events, sent_at_ms: got.sent_at_ms }).toEqual(expected)
      if (got.raw_events) {
        plain += 1
        expect(JSON.parse(got.raw_events.toString())).toEqual(got.events)
      }
    }),
    { numRuns: 20_000 },
  )
  expect(plain).toBeGreaterThan(100)
})

test.each([
  '{"events":[{"a":1}],"sent_at_ms":1}',
  '{"sent_at_ms":1,"events":[{"a":1}]}',
  ' { "events" : [ {"a":1} ] , "sent_at_ms" : 1 } \n',
  '{"events":[{"a":1}]}',
])("the client's own bytes are taken from %s", (text) => {
  expect(readBatch(Buffer.from(text)).raw_events?.toString().trim().startsWith('[')).toBe(true)
})

test.each(['{"events":[1],"events":[2],"sent_at_ms":1}', '{"events":[1],"sent_at_ms":1,"x":2}'])(
  'they are not taken from %s',
  (text) => expect(readBatch(Buffer.from(text)).raw_events).toBe(null),
)
