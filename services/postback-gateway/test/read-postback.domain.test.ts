import { CodedError } from '@tributary/contracts/errors'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'
import { readPostback } from '@tributary/domain/postback/read-postback'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { jwsOf } from './gateway.ts'

const read = (protocol: PostbackProtocol, body: string | Buffer) => readPostback(protocol, Buffer.from(body))

function outcome(protocol: PostbackProtocol, body: string | Buffer): string {
  try {
    return read(protocol, body).text === String(body) ? 'read' : 'changed'
  } catch (error) {
    return error instanceof CodedError ? error.code : String(error)
  }
}

const jws = jwsOf({ 'postback-identifier': 'p-1' })
const deep = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`

describe('the body of a postback', () => {
  test.each<[string, PostbackProtocol, string | Buffer, string]>([
    ['any JSON object', 'skan', '{}', 'read'],
    ['white space around it', 'skan', ' \r\n\t{"a" : 1}\n', 'read'],
    ['twice the same key', 'skan', '{"transaction-id":"a","transaction-id":"b"}', 'read'],
    ['an object that is deep', 'skan', deep(30_000), 'read'],
    ['a lone surrogate', 'skan', '{"a":"\\ud800"}', 'read'],
    ['no body', 'skan', '', 'bad_json'],
    ['an array', 'skan', '[{}]', 'bad_json'],
    ['null', 'skan', 'null', 'bad_json'],
    ['a text', 'skan', '"{}"', 'bad_json'],
    ['broken JSON', 'skan', '{"a":1', 'bad_json'],
    ['open arrays', 'skan', '['.repeat(60_000), 'bad_json'],
    ['a byte order mark', 'skan', '\ufeff{}', 'bad_json'],
    ['broken UTF-8', 'skan', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'bad_json'],
    ['zeros', 'skan', Buffer.alloc(1000), 'bad_json'],
    ['a bare JWS', 'aak', jws, 'read'],
    ['a bare JWS with a line end', 'aak', `${jws}\n`, 'read'],
    ['a JWS that nobody signed', 'aak', 'eyJhbGciOiJub25lIn0.e30.', 'read'],
    ['three parts of anything', 'aak', 'a.b.c', 'read'],
    ["Apple's JSON", 'aak', JSON.stringify({ 'jws-string': jws, 'conversion-value': 1 }), 'read'],
    ['no body', 'aak', '', 'bad_jws'],
    ['two parts', 'aak', 'a.b', 'bad_jws'],
    ['four parts', 'aak', 'a.b.c.d', 'bad_jws'],
    ['no header', 'aak', '.b.c', 'bad_jws'],
    ['another alphabet', 'aak', 'a+.b/.c=', 'bad_jws'],
    ['a space inside', 'aak', 'a. b.c', 'bad_jws'],
    ['JSON without a JWS', 'aak', '{"version":"4.0"}', 'bad_jws'],
    ['JSON with a JWS of two parts', 'aak', '{"jws-string":"a.b"}', 'bad_jws'],
    ['JSON with a number for a JWS', 'aak', '{"jws-string":1}', 'bad_jws'],
    ['an array', 'aak', '["a.b.c"]', 'bad_jws'],
    ['broken JSON', 'aak', '{"jws-string":', 'bad_json'],
    ['JSON in broken UTF-8', 'aak', Buffer.from('{"a":"\xff"}', 'latin1'), 'bad_json'],
    ['broken UTF-8', 'aak', Buffer.from([0x61, 0x2e, 0x62, 0x2e, 0x63, 0xa0]), 'bad_jws'],
    ['much white space', 'aak', `a.b.${' '.repeat(60_000)}c`, 'bad_jws'],
  ])('%s, %s', (_what, protocol, body, expected) => {
    expect(outcome(protocol, body)).toBe(expected)
  })

  it('never brings about another error than these, whatever comes', () => {
    const bodies = fc.oneof(fc.uint8Array({ maxLength: 200 }).map(Buffer.from), fc.string(), fc.json())
    fc.assert(
      fc.property(fc.constantFrom('skan' as const, 'aak' as const), bodies, (protocol, body) => {
        expect(['read', 'bad_json', 'bad_jws']).toContain(outcome(protocol, body))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('the key of a postback', () => {
  const skan = (fields: object) => read('skan', JSON.stringify(fields)).key
  const aak = (payload: object, more?: object) => {
    const made = jwsOf(payload)
    return read('aak', more === undefined ? made : JSON.stringify({ ...more, 'jws-string': made })).key
  }

  it('is the same for copies and forgeries of an id, in every form', () => {
    const id = '6f1c1f6e-0000-4000-8000-000000000001'
    expect(skan({ 'transaction-id': id, 'conversion-value': 3 })).toBe(skan({ forged: true, 'transaction-id': id }))
    expect(aak({ 'postback-identifier': id })).toBe(
      aak({ forged: 1, 'postback-identifier': id }, { 'country-code': 'US' }),
    )
    expect(skan({ 'transaction-id': id })).not.toBe(aak({ 'postback-identifier': id }))
  })

  it.each([undefined, null, '', 5, {}])('follows from the body where the id is %s', (id) => {
    expect(skan({ 'transaction-id': id })).toBe(skan({ 'transaction-id': id }))
    expect(skan({ 'transaction-id': id })).not.toBe(skan({ 'transaction-id': id, more: 1 }))
    expect(aak({ 'postback-identifier': id })).not.toBe(aak({ 'postback-identifier': id, more: 1 }))
  })

  it('follows from the body where the payload is no object', () => {
    for (const payload of ['', 'null', '1', '"x"', 'no json']) expect(read('aak', jwsOf(payload)).key).toHaveLength(64)
  })
})
