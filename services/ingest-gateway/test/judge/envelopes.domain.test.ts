import { gzipSync } from 'node:zlib'
import { unpackValue } from '@tributary/broker/gzip/packed-value'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { acceptBatch } from '@tributary/domain/accept/accept-batch'
import { closeRecords, type OpenRecord, openRecord, openRecords } from '@tributary/gateway/event-records'
import { sdkEvent } from '@tributary/testing/builders'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readBatch } from '../../src/judge/read-batch.ts'

const now_ms = Date.now()
const facts: EnvelopeFacts = {
  ...{ v: 1, company_id: 'co_1', app_id: 'app_1', platform: 'ios', source: 'sdk' },
  ...{ received_at_ms: now_ms, sent_at_ms: now_ms, ip: '192.0.2.1', user_agent: 'a', sdk: 'b', sdk_platform: 'c' },
}
const minted = () => 'never'

/** Members as text, so that they may be twice there, escaped, and numbers in forms that JSON.stringify never writes. */
const name = fc.constantFrom(
  '"props"',
  '"user_id"',
  '"\\u0078"',
  '"x"',
  '"é"',
  '"__proto__"',
  '"toJSON"',
  '"event_ts_ms"',
)
const value = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom(
    '-0',
    '1E3',
    '1.50',
    '9007199254740993',
    '0.1e-7',
    '"\\ud800"',
    '"\\/"',
    '{ "a" : 1, "a" : 2 }',
    'null',
  ),
)
const member = fc.tuple(name, value).map(([key, text]) => `${key}: ${text}`)
const event = fc
  .tuple(fc.array(member, { maxLength: 4 }), fc.array(member, { maxLength: 4 }))
  .map(([before, after]) => {
    const own = JSON.stringify(sdkEvent({ install_uuid: 'install-1', event_ts_ms: now_ms })).slice(1, -1)
    return `{${[...before, own, ...after].join(' , ')}}`
  })

/** The envelopes of accepted events, as a consumer has them after it wrote them down as JSON. */
const consumed = (open: OpenRecord[]) =>
  closeRecords(open, 'audit/1').map(({ value: stored, ...record }) => {
    const { events, ...envelope } = decodeEnvelope(unpackValue(stored))
    return { ...record, envelope, events: JSON.stringify(events) }
  })

test("a consumer gets the same envelope from the client's own bytes as from events that were written again", () => {
  let own = 0
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 4 }), (texts) => {
      const text = Buffer.from(`{"events":[${texts.join(' ,\n')}],"sent_at_ms":1}`)
      const { events, raw_events } = readBatch(text)
      const { accepted, rejected } = acceptBatch(events, 'sdk', now_ms, minted)
      if (rejected.size > 0) return
      own += 1
      const body = { gzip: gzipSync(text), inflated_bytes: text.length }
      for (const sent of [raw_events!, body]) {
        const open = openRecord(facts, 'install-1', { sent, holds: { facts: false, receipts: false } }, 12)
        expect(consumed([open])).toEqual(consumed(openRecords(facts, accepted, 12)))
      }
    }),
    { numRuns: 5000 },
  )
  expect(own).toBeGreaterThan(500)
})
