import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { redact } from '../../src/service/redact.ts'

const secret = 'sEcReT-0123456789abcdef'
const line = (fields: object) => JSON.stringify(redact(fields))
const names = ['password', 'signing_secret', 'key', 'Authorization', 'token', 'admin_token', 'receipt', 'master_key']

describe('a secret by its name', () => {
  test('is never written, however it is nested', () => {
    const nested = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom(...names).map((name) => ({ [name]: secret })),
        fc.constantFrom(...names).map((name) => ({ [name]: { inner: [secret] } })),
        fc.array(tie('value'), { minLength: 1, maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'props', 'headers', 'rest'), tie('value'), { minKeys: 1 }),
        tie('value').map((value) => new Map([['x', value]])),
        tie('value').map((cause) => new Error('failed', { cause })),
        tie('value').map((extra) => Object.assign(new Error('failed'), { extra, config: { extra } })),
        tie('value').map((value) => new AggregateError([value], 'all failed')),
        tie('value').map((value) => ({ toJSON: () => value })),
      ),
    })).value
    fc.assert(fc.property(nested, (value) => !line({ value }).includes(secret)))
  })

  test.each([
    ...[
      'key',
      'cookie',
      'set-cookie',
      'authorization',
      'secret',
      'password',
      'passwd',
      'token',
      'receipt',
      'signature',
    ],
    ...[
      'jws',
      'app_receipt',
      'purchase_token',
      'private_key',
      'server_key',
      'master_key',
      'access_key',
      'x-service-signature',
      'proxy-authorization',
      'aws_access_key',
    ],
    ...['TRIBUTARY_ADMIN_TOKEN', 'TRIBUTARY_KAFKA_PASSWORD', 'Set-Cookie'],
    ...['secretAccessKey', 'apiKey', 'apikey', 'x-api-key', 'api_key', 'clientSecret', 'sessionToken', 'privateKey'],
  ])('is known by %s', (name) => {
    expect(redact({ [name]: secret })).toEqual({ [name]: '[redacted]' })
  })

  test('leaves what is no secret', () => {
    const names = { company_key: 'co_live_1', app_key: 'app_live_1', key_id: 'key_1', audit_key: 's2s/x', tokens: 3 }
    const fields = {
      ...names,
      accessKeyId: 'ingest-gateway',
      url: 'http://127.0.0.1:8080/event?a=b',
      sender: 'a@b.example',
    }
    expect(redact({ ...fields, key: null, nested: [{ n: 1n, bytes: Buffer.alloc(3) }] })).toEqual({
      ...fields,
      key: null,
      nested: [{ n: '1', bytes: '[3 bytes]' }],
    })
  })

  test('cycles and depth end', () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    expect(line(cycle)).toContain('[deep]')
  })
})

describe('errors of clients', () => {
  const url = (scheme: string) => `${scheme}://user:${secret}@db.internal:5432/x`

  test.each(['postgres', 'redis', 'http', 'kafka'])(
    'an address of %s loses its password, in messages, stacks and causes',
    (scheme) => {
      const cause = new Error(`connect ECONNREFUSED ${url(scheme)}`)
      const err = Object.assign(new Error(`failed: ${url(scheme)}`, { cause }), {
        url: url(scheme),
        code: 'ECONNREFUSED',
      })
      const written = line({ err, many: new AggregateError([cause, new TypeError(url(scheme))], 'all') })
      expect(written).not.toContain(secret)
      expect(written).toContain('db.internal')
      expect(redact({ err }).err).toMatchObject({
        type: 'Error',
        code: 'ECONNREFUSED',
        message: expect.stringContaining('failed'),
      })
    },
  )

  test.each(['a/b', '/', 'a?b#c', 'p@ss', 'a:b/c@d', '1/2'])(
    'a password that nobody encoded is cut whole: %s',
    (odd) => {
      const url = `redis://user:${secret}${odd}${secret}@db.internal:6379/0`
      const written = line({ err: new Error(`connect to ${url} failed`), url: `redis://:${odd}${secret}@db.internal` })
      expect(written).not.toContain(secret)
      expect(written).toContain('@db.internal:6379/0 failed')
    },
  )

  test('ioredis: a refused AUTH says the command and its password in the error', () => {
    const err = Object.assign(new Error('WRONGPASS'), { command: { name: 'auth', args: ['user', secret] } })
    expect(line({ err })).not.toContain(secret)
  })

  test('pg and node: an address that can not be read is part of the message', () => {
    const broken = `postgres://user:${secret}@[::x/db`
    expect(line({ err: Object.assign(new TypeError('Invalid URL'), { input: broken }) })).not.toContain(secret)
  })

  test('kafkajs: what its logger is told', () => {
    const rest = {
      broker: 'b:9092',
      sasl: { mechanism: 'plain', username: 'u', password: secret },
      error: 'SASL PLAIN failed',
    }
    expect(line({ kafkajs: 'Connection', rest })).not.toContain(secret)
  })

  test('keys and tokens in texts', () => {
    const key = `srv_${'0a'.repeat(24)}`
    expect(
      line({
        err: new Error(`no such key ${key}`),
        url: `/x?key=${key}`,
        header: `Bearer ${secret}`,
        other: `basic ${secret}`,
      }),
    ).not.toMatch(new RegExp(`0a0a0a|${secret}`))
  })
})
