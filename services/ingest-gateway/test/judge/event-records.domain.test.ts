import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import type { AcceptedEvent } from '@tributary/domain/accept/accept-event'
import { closeRecords, holdsOf, openRecords } from '@tributary/gateway/event-records'
import { sdkEvent } from '@tributary/testing/builders'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mintEventId } from '../../src/s2s/s2s-event-id.ts'

const facts: EnvelopeFacts = {
  ...{ v: 1, company_id: 'co_1', app_id: 'app_1', platform: 'ios', source: 'bulk' },
  ...{ received_at_ms: Date.now(), ip: '192.0.2.1', user_agent: '"ü\\', sdk: '\ud800', sdk_platform: '' },
}

const eventRecords = (accepted: AcceptedEvent[], audit_key: string) =>
  closeRecords(openRecords(facts, accepted, 12), audit_key)

test('each install of a request gets its events, in one envelope and in their order', () => {
  const event = fc
    .record({
      install_uuid: fc.constantFrom('a', '-_9', 'b'.repeat(64)),
      user_id: fc.string({ unit: 'binary' }),
      props: fc.object({ maxDepth: 2 }),
    })
    .map((fields) => sdkEvent(fields) as AcceptedEvent)
  fc.assert(
    fc.property(fc.array(event, { maxLength: 12 }), fc.string(), (accepted, audit_key) => {
      const expected = [...Map.groupBy(accepted, ({ install_uuid }) => install_uuid)].map(([install_uuid, events]) => ({
        key: `app_1/${install_uuid}`,
        envelope: JSON.parse(JSON.stringify({ ...facts, install_uuid, events, audit_key })),
      }))
      const made = eventRecords(accepted, audit_key)
      expect(made.map(({ key, value }) => ({ key, envelope: decodeEnvelope(value) }))).toEqual(expected)
    }),
    { numRuns: 100 },
  )
})

test('a record of one install never exceeds what the log takes, and none of its events is lost', () => {
  const text = 'ü'.repeat(3000)
  const accepted = Array.from({ length: 400 }, () => sdkEvent({ install_uuid: 'a', props: { text } }) as AcceptedEvent)
  const records = eventRecords(accepted, 'k')
  expect(records.length).toBeGreaterThan(1)
  for (const { value } of records) expect(value.length).toBeLessThanOrEqual(limits.record_bytes_max)
  expect(records.flatMap(({ value }) => JSON.parse(value.toString()).events)).toEqual(accepted)
})

test('of an install in several records those that hold a fact say so', () => {
  const filler = { props: { text: 'x'.repeat(10_000) } }
  const accepted = Array.from(
    { length: 400 },
    (_, n) =>
      sdkEvent({ install_uuid: 'a', event_name: n === 250 ? 'app_install' : 'level_up', ...filler }) as AcceptedEvent,
  )
  const records = eventRecords(accepted, 'k')
  const found = records.map(({ value }) => holdsOf(decodeEnvelope(value).events).facts)
  expect(found.filter((has) => has)).toHaveLength(1)
  expect(records.map(({ headers }) => headers?.facts)).toEqual(found.map((has) => (has ? '1' : '0')))
})

test('a record of what a store said tells of receipts, and one of another source only when it has one', () => {
  const event = sdkEvent({ install_uuid: 'a' }) as AcceptedEvent
  const bought = sdkEvent({ install_uuid: 'b', props: { receipt: { store: 'apple' } } }) as AcceptedEvent
  const receipts = (source: EnvelopeFacts['source']) =>
    openRecords({ ...facts, source }, [event, bought], 12).map(({ headers }) => headers.receipts)
  expect(receipts('store')).toEqual(['1', '1'])
  expect(receipts('bulk')).toEqual(['0', '1'])
})

test('a minted event_id is a UUIDv7 of its time, each another', () => {
  const at_ms = Date.UTC(2026, 0, 31)
  const ids = Array.from({ length: 1000 }, () => mintEventId(at_ms))
  expect(new Set(ids).size).toBe(1000)
  for (const id of ids) {
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(at_ms)
  }
})
