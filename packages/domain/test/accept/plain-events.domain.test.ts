import { isFact } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { receiptOf } from '@tributary/contracts/receipt/receipt'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { acceptBatch } from '../../src/accept/accept-batch.ts'
import { countOnce } from '../../src/accept/count-once.ts'
import { findPlainEvents } from '../../src/accept/plain-events.ts'
import { damaged } from './damaged.ts'

const now_ms = Date.UTC(2026, 5, 1)
const latest_ms = now_ms + limits.event_ts_ahead_ms_max
const nested = (depth: number): string => (depth === 0 ? '1' : `{"a":${nested(depth - 1)}}`)
const quoted = (length: number) => `"${'x'.repeat(length)}"`

/** For each field what it may be, at its limits and beyond, as text: most are right, so that whole batches are. */
const values: Record<string, string[]> = {
  event_id: [
    '"e-1"',
    '"e-1"',
    '"e-2"',
    '"!~"',
    quoted(128),
    quoted(129),
    '""',
    '" "',
    '"\\u0065"',
    '"é"',
    '"\u007f"',
    'null',
    '7',
  ],
  install_uuid: [
    '"i-1"',
    '"i-1"',
    '"i-1"',
    '"i-1"',
    '"i-1"',
    '"i-1"',
    '"i-2"',
    '"i 1"',
    quoted(64),
    quoted(65),
    '"\\u0069-1"',
  ],
  event_ts_ms: [now_ms, now_ms, now_ms, limits.event_ts_ms_min, limits.event_ts_ms_min - 1, latest_ms, latest_ms + 1]
    .map(String)
    .concat(
      'null',
      '1e12',
      `${now_ms}.0`,
      `${now_ms}.5`,
      `-${now_ms}`,
      '0',
      '"1"',
      '+1',
      `0${now_ms}`,
      '17800000000.5',
      '-178000000000',
      '17800000000e1',
    ),
  event_name: [
    '"level_up"',
    '"level_up"',
    '"_user_alias"',
    '"app_first_open"',
    '"a b"',
    '"_user_alia"',
    '"app_first_opens"',
    '"\\u0061pp_first_open"',
    '"app_install"',
    '"app_instal"',
    quoted(128),
    quoted(129),
    '"\\n"',
    '"\u0085"',
    '"ü"',
    '""',
  ],
  user_id: ['"u"', '""', 'null', '"\\ud83d\\ude00"', '"üü"', quoted(256), quoted(257), `"${'ü'.repeat(256)}"`, '7'],
  platform: ['"ios"', 'null', 'false'],
  transaction_id: ['"t"', '{}'],
  product_id: ['"p"', '[]'],
  revenue: ['1.5', '-0', '1e9', '-1e9', '1000000000.01', '1e10', '-1e400', '"1"', 'null', '01', '.5'],
  currency: [
    '"EUR"',
    '"usd"',
    '"xau"',
    '"XXX"',
    '"xts"',
    '"XXQ"',
    '"EU"',
    '"EURO"',
    'null',
    '"E\\u0055R"',
    '"ſdR"',
    '7EUR"',
    '"EUR7',
    'EUR',
  ],
  props: ['{}', '{"identity_migration":true}', '{"a":[1,{"b":null}],"a":2}', 'null', '[]', '"x"', nested(8), nested(9)]
    .concat('{"receipt":1}', '{"receipts":1,"a":{"receipt":1}}', '{"a":1, "receipt" : null}', '{"rec\\u0065ipt":1}')
    .concat([2700, 2800, 16_370, 16_380].map((length) => `{"a":${quoted(length)}}`))
    .concat(`[${'1e20,'.repeat(600)}1e20]`, `{"a":[${'1e20,'.repeat(790)}1e20]}`, `{"a":[${'1e20,'.repeat(500)}1e20]}`),
  device: ['{"os":"android"}', '{ }', 'null', '{"a":}'],
  extra: ['1', 'null', nested(7), nested(8), nested(9), quoted(10_000), quoted(11_000), quoted(70_000)],
  '\\u0065vent_id': ['"e-9"'],
  __proto__: ['{"event_id":1}', '1'],
  événement: ['1'],
  toJSON: ['1'],
}
const space = fc.constantFrom('', '', '', ' ', '\n\t\r ')
const required = ['event_id', 'install_uuid', 'event_ts_ms', 'event_name']
const member = (key: string, count: number) =>
  fc
    .tuple(fc.nat({ max: count - 1 }), space, space)
    .map(([n, before, after]) => `${before}"${key}"${after}:${before}${values[key]![n]}${after}`)
const anyMember = fc.constantFrom(...Object.keys(values)).chain((key) => member(key, values[key]!.length))
const wrong = (key: string) => member(key, values[key]!.length)
/** The first of its values are right. */
const right = (key: string) => member(key, key === 'event_name' ? 4 : 3)
const ofKeys = (keys: string[], one: (key: string) => fc.Arbitrary<string>) => fc.tuple(...keys.map(one))
const event = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: ofKeys(required, right) },
      ofKeys(required, wrong),
      ofKeys(required.slice(1), right),
    ),
    fc.oneof({ weight: 3, arbitrary: fc.constant<string[]>([]) }, fc.array(anyMember, { maxLength: 5 })),
    fc.boolean(),
  )
  .map(([own, more, first]) => `{${(first ? [...own, ...more] : [...more, ...own]).join()}}`)
const batch = fc
  .tuple(
    fc.array(fc.oneof({ weight: 40, arbitrary: event }, fc.constantFrom('1', '{}', 'null', '[]')), { maxLength: 4 }),
    space,
  )
  .map(([events, between]) => `[${between}${events.join(`${between},${between}`)}${between}]`)

let facts = 0

/** Whether the events are found plain; where they are, `JSON.parse` and `acceptBatch` must say the same. */
function isPlain(json: Buffer): boolean {
  const plain = findPlainEvents(json, now_ms)
  if (plain === null) return false
  const parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json))
  const { accepted, results } = acceptBatch(parsed, 'sdk', now_ms, never)
  expect(results).toEqual(plain.event_ids.map((event_id) => ({ event_id, status: 'accepted' })))
  expect(new Set(accepted.map(({ install_uuid }) => install_uuid))).toEqual(new Set([plain.install_uuid]))
  expect(plain.has_facts).toBe(accepted.some(({ event_name }) => isFact(event_name)))
  if (plain.has_facts) facts += 1
  expect(accepted.filter((event) => receiptOf(event) !== null)).toEqual([])
  if (new Set(plain.event_ids).size === accepted.length) expect(countOnce(accepted, now_ms)).toBe(accepted.length)
  return true
}

test('events that are found plain are those that JSON.parse and acceptBatch accept, all of one install', () => {
  let found = 0
  fc.assert(
    fc.property(
      fc.oneof(
        batch.map((text) => Buffer.from(text)),
        damaged(batch),
      ),
      (json) => {
        if (isPlain(json)) found += 1
      },
    ),
    { numRuns: 5000 },
  )
  expect(found).toBeGreaterThan(500)
  expect(facts).toBeGreaterThan(100)
})

test.each(Object.keys(values))('nothing that %s may be is found plain wrongly', (key) => {
  const rightMembers = required.filter((name) => name !== key).map((name) => `"${name}":${values[name]![0]}`)
  const verdicts = values[key]!.map((value) => {
    const members = [...rightMembers, `"${key}":${value}`]
    return isPlain(Buffer.from(`[{${members.join()}}]`)) || isPlain(Buffer.from(`[{${members.toReversed().join()}}]`))
  })
  if (!key.startsWith('\\u')) expect(verdicts).toContain(true)
})

const never = () => {
  throw new Error('an SDK event was accepted without an id')
}

test('what SDKs send is found plain: every field, at its limits, with white space and letters of all kinds', () => {
  const full = {
    ...{
      event_id: 'x'.repeat(128),
      install_uuid: 'Az09_-'.padEnd(64, 'x'),
      event_ts_ms: latest_ms,
      event_name: '"'.replace('"', 'a b'),
    },
    ...{
      user_id: 'Zoë 😀',
      transaction_id: 't\n"1"',
      product_id: 'p',
      platform: null,
      revenue: -1.5e2,
      currency: 'eur',
    },
    ...{
      props: { level: 1, deep: { b: [true, false, null, 'ü\\'] } },
      device: { os: 'ios' },
      screen: 'shop',
      tags: ['a', { b: 1 }],
    },
  }
  const events = Array.from({ length: 500 }, (_, n) => ({ ...full, event_id: `e-${n}`, n }))
  for (const text of [JSON.stringify(events), JSON.stringify(events, null, 2), JSON.stringify([full])]) {
    expect(findPlainEvents(Buffer.from(text), now_ms)?.install_uuid).toBe(full.install_uuid)
  }
  expect(findPlainEvents(Buffer.from(JSON.stringify([...events, full])), now_ms)).toBeNull()
})

test('text that is not UTF-8 is not plain', () => {
  const json = Buffer.from(
    `[{"event_id":"e","install_uuid":"i","event_ts_ms":${now_ms},"event_name":"n","user_id":"\xff"}]`,
    'latin1',
  )
  expect(findPlainEvents(json, now_ms)).toBeNull()
})

test('a field may begin with a letter of any alphabet and have any length', () => {
  const required = `"event_id":"e","install_uuid":"i","event_ts_ms":${now_ms},"event_name":"n"`
  for (const letter of ['é', 'ÿ', 'я', '世', '😀', '\u007f']) {
    for (let length = 0; length < 40; length += 1) {
      const json = Buffer.from(`[{${required},"${letter}${'x'.repeat(length)}":1}]`)
      expect(findPlainEvents(json, now_ms)?.install_uuid).toBe('i')
    }
  }
})

test('the last of two names of an event says whether it is a fact', () => {
  const events = (...names: string[]) => {
    const members = names.map((name) => `"event_name":"${name}"`)
    return Buffer.from(`[{"event_id":"e","install_uuid":"i","event_ts_ms":${now_ms},${members.join()}}]`)
  }
  expect(findPlainEvents(events('_user_alias', 'level_up'), now_ms)?.has_facts).toBe(false)
  expect(findPlainEvents(events('level_up', '_user_alias'), now_ms)?.has_facts).toBe(true)
})
