import { hash } from 'node:crypto'
import type { Envelope } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { eventKey } from '@tributary/domain/event-key'
import { toEventRow, UnwritableEventError } from '@tributary/domain/event-row'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const position = { topic: 'events.accepted.v1', partition: 3, offset: 42 }
const ts = Date.UTC(2026, 2, 1, 23, 59, 59, 999)

const envelope: Envelope = {
  v: 1,
  company_id: 'co_1',
  app_id: 'app_1',
  platform: 'android',
  source: 'sdk',
  install_uuid: 'install-1',
  received_at_ms: Date.UTC(2026, 2, 2),
  sent_at_ms: Date.UTC(2026, 2, 2) - 50,
  ip: '203.0.113.7',
  user_agent: 'Unity',
  country: 'DE',
  sdk: 'unity-2.1.0',
  sdk_platform: 'android',
  audit_key: 'audit/2026/03/02/co_1/app_1/x.jsonl.gz',
  events: [{}],
}
const event = { event_id: 'e1', event_name: 'level_up', event_ts_ms: ts, install_uuid: 'install-1' }
const row = (fields: Record<string, unknown>, of: Partial<Envelope> = {}) =>
  toEventRow({ ...envelope, ...of }, { ...event, ...fields }, position)

test('an event becomes a row with its envelope, its day and its place in the log', () => {
  expect(
    row({ user_id: 'u1', product_id: 'p1', transaction_id: 't1', props: { a: 1 }, device: { os: 'android' } }),
  ).toEqual({
    app_id: 'app_1',
    day: '2026-03-01',
    install_uuid: 'install-1',
    ts_ms: ts,
    correction_ms: 1,
    event_name: 'level_up',
    event_id: 'e1',
    ...eventKey({ install_uuid: 'install-1', event_id: 'e1', day: '2026-03-01', install: false }),
    user_id: 'u1',
    revenue_micros: null,
    currency: '',
    transaction_id: 't1',
    product_id: 'p1',
    props: '{"a":1}',
    device: '{"os":"android"}',
    extra: '{}',
    platform: 'android',
    source: 'sdk',
    sdk: 'unity-2.1.0',
    sdk_platform: 'android',
    ip: '203.0.113.7',
    user_agent: 'Unity',
    country: 'DE',
    company_id: 'co_1',
    audit_key: 'audit/2026/03/02/co_1/app_1/x.jsonl.gz',
    received_at_ms: Date.UTC(2026, 2, 2),
    sent_at_ms: Date.UTC(2026, 2, 2) - 50,
    ...position,
    transaction_key: '0',
    revenue_counts: 0,
  })
})

test('an event of a gateway that looked up no country has none', () => {
  expect(row({}, { country: undefined }).country).toBe('')
})

test('an SDK event is corrected by the clock of its batch, one without a time by none', () => {
  const hour_ms = 3_600_000
  const correction = (fields: Record<string, unknown>, of: Partial<Envelope> = {}) =>
    row(fields, { received_at_ms: ts + 2 * hour_ms, sent_at_ms: ts + hour_ms, ...of }).correction_ms
  expect(correction({})).toBe(hour_ms)
  expect(correction({ event_ts_ms: null })).toBe(0)
  expect(correction({}, { source: 's2s' })).toBe(0)
  expect(correction({ event_ts_ms: ts + 3 * hour_ms })).toBe(-hour_ms)
})

test('a transaction is one by event name and id, and only where there is money', () => {
  const keyOf = (fields: Record<string, unknown>) =>
    row({ event_name: 'purchase', revenue: 1, ...fields }).transaction_key
  const key = keyOf({ transaction_id: 't1' })
  expect(key).toMatch(/^[1-9]\d{5,19}$/)
  expect(keyOf({ transaction_id: 't1', revenue: 2, currency: 'EUR', event_id: 'e2' })).toBe(key)
  expect(keyOf({ transaction_id: 't1', event_name: 'purchase_refunded' })).not.toBe(key)
  expect(keyOf({ transaction_id: 'T1' })).not.toBe(key)
  for (const fields of [{ transaction_id: 't1', revenue: null }, { transaction_id: '' }, { transaction_id: null }]) {
    expect(keyOf(fields)).toBe('0')
  }
  expect([row({ revenue: 0 }).revenue_counts, row({ revenue: null }).revenue_counts]).toEqual([1, 0])
})

test('a row holds the SHA-256 of a receipt and not its text', () => {
  const receipt = { store: 'apple', jws: 'secret.of.apple' }
  const { props } = row({ props: { level: 1, receipt } })
  expect(JSON.parse(props)).toEqual({ level: 1, receipt: hash('sha256', JSON.stringify(receipt)) })
  expect(row({ props: { receipt: 'secret' } }).props).not.toContain('secret')
  expect(row({ props: { receipt: null, level: 1 } }).props).toBe('{"receipt":null,"level":1}')
})

test('an event that a store can confirm is a transaction of its own, by its key and its day, and only with money', () => {
  const keyOf = (fields: Record<string, unknown>, of: Partial<Envelope> = {}) =>
    row({ event_name: 'purchase', revenue: 1, transaction_id: 't1', ...fields }, of).transaction_key
  const props = { receipt: { store: 'apple', jws: 'a.b.c' } }
  const day_ms = 86_400_000
  const keys = [
    keyOf({}),
    keyOf({ props }),
    keyOf({ props, event_id: 'e2' }),
    keyOf({ props, event_ts_ms: ts + 2 * day_ms }),
    keyOf({ props }, { install_uuid: 'install-2' }),
    keyOf({ event_id: 'e3' }, { source: 'store' }),
    keyOf({ props: { receipt: 'none' }, event_id: 'e4' }),
  ]
  expect(new Set(keys).size).toBe(keys.length)
  expect(keyOf({ props: { receipt: { store: 'apple', jws: 'd.e.f' } } })).toBe(keyOf({ props }))
  expect(keyOf({ props, transaction_id: null })).toBe(keyOf({ props }))
  expect(keyOf({ props: { receipt: null } })).toBe(keyOf({}))
  expect(keyOf({ props, revenue: null })).toBe('0')
})

test('null is absent', () => {
  const nothing = { user_id: null, revenue: null, currency: null, transaction_id: null, product_id: null }
  expect(row({ ...nothing, props: null, device: null })).toEqual(row({}))
})

test('an SDK event without a time takes the time its batch was received', () => {
  for (const event_ts_ms of [null, undefined]) {
    expect(row({ event_ts_ms })).toMatchObject({ ts_ms: envelope.received_at_ms, day: '2026-03-02' })
  }
})

test('the earliest time that the gateway accepts makes a row, and one before it none', () => {
  expect(row({ event_ts_ms: limits.event_ts_ms_min })).toMatchObject({ ts_ms: Date.UTC(2010, 0, 1), day: '2010-01-01' })
  expect(() => row({ event_ts_ms: limits.event_ts_ms_min - 1 })).toThrow(UnwritableEventError)
})

test('a client clock that is no time is stored as absent', () => {
  for (const sent_at_ms of [-5, 0, 9e15, undefined]) expect(row({}, { sent_at_ms }).sent_at_ms).toBe(0)
})

test.each([
  ['purchase', 19.99, '19990000'],
  ['purchase', 0.1 + 0.2, '300000'],
  ['purchase', 1e9, '1000000000000000'],
  ['purchase', 999_999_999.999999, '999999999999999'],
  ['purchase', -0, '0'],
  ['purchase', -4.5, '-4500000'],
  ['purchase_refunded', 4.5, '-4500000'],
  ['purchase_refunded', -4.5, '-4500000'],
  ['subscription_refunded', 1e-6, '-1'],
  ['subscription_refunded', 0, '0'],
  ['purchase', 1e-9, '0'],
])('%s with revenue %d counts %s micros', (event_name, revenue, revenue_micros) => {
  expect(row({ event_name, revenue }).revenue_micros).toBe(revenue_micros)
})

test('every amount of up to six decimals is exact', () => {
  const whole = fc.integer({ min: -999_999_999, max: 999_999_999 })
  fc.assert(
    fc.property(whole, fc.integer({ min: 0, max: 999_999 }), (units, micros) => {
      const decimal = `${units}.${String(micros).padStart(6, '0')}`
      const digits = BigInt(decimal.replace('.', '').replace('-', ''))
      const expected = decimal.startsWith('-') && digits !== 0n ? -digits : digits
      expect(row({ revenue: Number(decimal) }).revenue_micros).toBe(expected.toString())
    }),
    { numRuns: 2000 },
  )
})

test('currency is upper case, USD when there is none, and empty without money', () => {
  expect(row({ revenue: 1, currency: 'eur' }).currency).toBe('EUR')
  expect(row({ revenue: 1 }).currency).toBe('USD')
  expect(row({ currency: 'eur' }).currency).toBe('')
})

test('other fields are kept, __proto__ and a foreign platform too', () => {
  const hostile = JSON.parse('{"__proto__":{"polluted":true},"level":7,"toJSON":"x","platform":"unity"}')
  expect(toEventRow(envelope, Object.assign(hostile, event), position).extra).toBe(
    '{"__proto__":{"polluted":true},"level":7,"toJSON":"x","platform":"unity"}',
  )
  expect(row({ platform: 'android' }).extra).toBe('{}')
})

test('a lone surrogate is replaced everywhere, text that looks like one is not', () => {
  const lone = '\ud83d'
  const stored = row({
    event_name: `a${lone}`,
    user_id: lone,
    props: { [lone]: ['\\ud83d', `\\${lone}`, lone, '\u{1f600}'] },
    [`x${lone}`]: lone,
  })
  expect(stored).toMatchObject({ event_name: 'a\ufffd', user_id: '\ufffd' })
  expect(JSON.parse(stored.props)).toEqual({ '\ufffd': ['\\ud83d', '\\\ufffd', '\ufffd', '\u{1f600}'] })
  expect(JSON.parse(stored.extra)).toEqual({ 'x\ufffd': '\ufffd' })
})

test('any JSON survives as it was, but for lone surrogates', () => {
  const wellFormed = (value: unknown): unknown => {
    if (typeof value === 'string') return value.toWellFormed()
    if (Array.isArray(value)) return value.map(wellFormed)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]))
  }
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' })), (props) => {
      const parsed = JSON.parse(JSON.stringify(props))
      expect(JSON.parse(row({ props: parsed }).props)).toEqual(wellFormed(parsed))
    }),
  )
})

test('an install is one per install_uuid for ever, and its event_id blocks no other event', () => {
  const install = row({ event_name: 'app_install' })
  expect(install.key_day).toBe('1970-01-01')
  expect(row({ event_name: 'app_install', event_id: 'e2', event_ts_ms: ts + 9e9 })).toMatchObject({
    event_key: install.event_key,
    key_day: install.key_day,
  })
  expect(row({}).event_key).not.toBe(install.event_key)
})

test('an install of an identity migration is an event like others', () => {
  const migrated = row({ event_name: 'app_install', props: { identity_migration: true } })
  expect(migrated).toMatchObject({ event_key: row({}).event_key, key_day: '2026-03-01' })
  expect(row({ event_name: 'app_install', props: { identity_migration: 'true' } }).key_day).toBe('1970-01-01')
})

test('keys of two installs that number their events alike differ', () => {
  const key = (install_uuid: string, event_id: string) =>
    eventKey({ install_uuid, event_id, day: '2026-03-01', install: false }).event_key
  expect(key('a', '1')).not.toBe(key('b', '1'))
  expect(key('a', '1')).toMatch(/^\d{1,20}$/)
})

test.each([
  [{ event_name: 5 }],
  [{ event_id: undefined }],
  [{ event_ts_ms: 1.5 }],
  [{ event_ts_ms: Number.MAX_SAFE_INTEGER }],
  [{ event_ts_ms: -1 }],
  [{ revenue: '5' }],
  [{ revenue: 1e300 }],
  [{ revenue: 5, currency: '€' }],
  [{ props: [] }],
  [{ device: 'phone' }],
  [{ user_id: {} }],
])('no row is made of %j', (fields) => {
  expect(() => row(fields)).toThrow(UnwritableEventError)
})
