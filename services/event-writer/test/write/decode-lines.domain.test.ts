import type { LogRecord } from '@tributary/broker/broker'
import type { Envelope } from '@tributary/contracts/envelope'
import { type EventRow, eventRowColumns, jsonColumns } from '@tributary/contracts/rows'
import { toEventRow } from '@tributary/domain/event-row'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeLines } from '../../src/write/decode-lines.ts'
import { joinLines } from '../../src/write/event-line.ts'

const record = { topic: 'events.accepted.v1', partition: 3, offset: 7 } as LogRecord
const now_ms = 1_700_000_000_123
const isJson = (name: string): boolean => (jsonColumns as readonly string[]).includes(name)
const valuesOf = (row: EventRow) =>
  eventRowColumns.map((name) => (isJson(name) ? JSON.parse(`${row[name]}`) : row[name]))

const ascii = fc.string({ maxLength: 8 })
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('"\\\n', '\ud800', 'é\u2028', '}"]'),
)
const envelopeOf = (text: fc.Arbitrary<string>): fc.Arbitrary<Envelope> => {
  const object = fc.dictionary(text, fc.oneof(text, fc.integer()), { noNullPrototype: true })
  const event = fc.record(
    {
      ...{
        event_id: text,
        event_name: fc.constantFrom('purchase', 'app_install', 'x'),
        event_ts_ms: fc.constant(1.7e12),
      },
      ...{ user_id: text, transaction_id: text, product_id: text, props: object, device: object, more: object },
      ...{
        revenue: fc.constantFrom(1.5, -3, 0),
        currency: fc.constantFrom('usd', 'EUR'),
        platform: fc.constant('Web'),
      },
    },
    { requiredKeys: ['event_id', 'event_name'], noNullPrototype: true },
  )
  return fc.record({
    ...{ v: fc.constant(1), company_id: fc.constant('co_1'), app_id: fc.constant('app_1') },
    ...{ platform: fc.constantFrom('ios', 'android'), source: fc.constantFrom('sdk', 's2s', 'bulk') },
    ...{ install_uuid: text, ip: text, user_agent: text, sdk: text, sdk_platform: text, audit_key: text },
    ...{ received_at_ms: fc.constant(1.7e12), sent_at_ms: fc.constantFrom(1.6e12, undefined) },
    events: fc.array(event, { minLength: 1, maxLength: 5 }),
  }) as fc.Arbitrary<Envelope>
}

test('what is inserted holds every column of the rows in the order of the insert, whether their money counts, and when they are stored', () => {
  const envelopes = fc.oneof(envelopeOf(ascii), envelopeOf(hostile))
  fc.assert(
    fc.property(envelopes, fc.array(fc.nat(4)), (envelope, beaten) => {
      const lines = decodeLines({ ...record, value: Buffer.from(JSON.stringify(envelope)) }, record.topic)
      const isBeaten = (n: number) => beaten.includes(n)
      const inserted = joinLines(
        lines.map((line, n) => (isBeaten(n) ? { ...line, revenue_counts: 0 } : line)),
        now_ms,
      )
      const rows = envelope.events.map((event) => toEventRow(envelope, event, record))
      expect(
        inserted
          .toString()
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line)),
      ).toEqual(rows.map((row, n) => [...valuesOf(isBeaten(n) ? { ...row, revenue_counts: 0 } : row), now_ms]))
    }),
    { numRuns: 1000 },
  )
})
