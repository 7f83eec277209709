import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import { Envelope } from '@tributary/contracts/envelope'
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

test('the check by hand takes and refuses what the envelope schema takes and refuses', () => {
  const wrong = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(1, 'ios', 'sdk', '', [{}], [], [1], [[]], [null], 1.5, 2 ** 53, -1, undefined, null),
  )
  const field = fc.constantFrom(...Object.keys(good))
  fc.assert(
    fc.property(field, wrong, (name, value) => {
      const envelope = JSON.parse(JSON.stringify({ ...good, [name]: value }))
      expect(decodes(envelope)).toBe(Envelope.safeParse(envelope).success)
    }),
    { numRuns: 3000 },
  )
  for (const value of [null, [], 'text', 5]) expect(decodes(value)).toBe(false)
  expect(decodes(good)).toBe(true)
})
