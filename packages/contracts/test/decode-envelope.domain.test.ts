import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import { BodyEnvelope, Envelope } from '@tributary/contracts/envelope'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const good = {
  v: 1,
  company_id: 'co_1',
  app_id: 'app_1',
  platform: 'ios',
  source: 'bulk',
  install_uuid: 'i',
  received_at_ms: 1_700_000_000_000,
  sent_at_ms: 1_700_000_000_000,
  ip: '',
  user_agent: '',
  sdk: '',
  sdk_platform: '',
  audit_key: '',
  events: [{ event_id: '1' }],
}

const decodes = (value: unknown): boolean => {
  try {
    decodeEnvelope(Buffer.from(JSON.stringify(value)))
    return true
  } catch {
    return false
  }
}

const { events, ...rest } = good
const withBody = { ...rest, v: 2, body: { events, sent_at_ms: 1.5 } }

test('the check by hand takes and refuses what the envelope schema takes and refuses', () => {
  const wrong = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(1, 'ios', 'sdk', '', [{}], [], [1], [[]], [null], 1.5, 2 ** 53, -1, undefined, null),
  )
  const field = fc.constantFrom(...Object.keys(good), 'body')
  fc.assert(
    fc.property(fc.constantFrom(good, withBody), field, wrong, (base, name, value) => {
      const inBody = 'body' in base && name === 'events' ? { body: { events: value } } : { [name]: value }
      const envelope = JSON.parse(JSON.stringify({ ...base, ...inBody }))
      const schema = envelope.v === 2 ? BodyEnvelope : Envelope
      expect(decodes(envelope)).toBe(schema.safeParse(envelope).success)
    }),
    { numRuns: 3000 },
  )
  for (const value of [null, [], 'text', 5]) expect(decodes(value)).toBe(false)
  expect(decodes(good)).toBe(true)
})

test('an envelope with the body of the client is the same to its reader as one with the events', () => {
  const decoded = (value: unknown) => decodeEnvelope(Buffer.from(JSON.stringify(value)))
  expect(decoded(withBody)).toEqual(decoded(good))
})
