import { limits } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { acceptBatch } from '../../src/accept/accept-batch.ts'

const now_ms = Date.UTC(2026, 5, 1)
const good = { event_id: 'e-1', event_name: 'purchase', install_uuid: 'i-1', event_ts_ms: now_ms }
const neverMinted = () => expect.unreachable()

test.each<[string, unknown, string]>([
  ['is no object', 7, 'An event is a JSON object.'],
  ['has no install', { ...good, install_uuid: '' }, 'install_uuid is absent or empty.'],
  ['has an id of two words', { ...good, event_id: 'a b' }, '1 to 128 visible ASCII characters'],
  ['has a time in text', { ...good, event_ts_ms: '2026-06-01T12:00:00Z' }, 'a whole number: Unix epoch milliseconds'],
  ['has a time without zone', { ...good, event_ts_ms: '2026-06-01 12:00' }, 'a time without a zone'],
  ['has a time in seconds', { ...good, event_ts_ms: now_ms / 1000 }, 'This looks like seconds: multiply by 1000.'],
  ['has a time of another century', { ...good, event_ts_ms: -1 }, 'from 2010 to 24 h ahead of now, in milliseconds.'],
  ['has money in text', { ...good, revenue: '9.99' }, 'revenue is a number, not text'],
  ['has a currency that is none', { ...good, currency: 'EURO' }, 'a code of ISO 4217 such as EUR'],
  ['has a list of properties', { ...good, props: [] }, 'props is an object of at most 16 KiB of JSON and 8 levels'],
  ['has a user of many characters', { ...good, user_id: 'u'.repeat(257) }, 'text of at most 256 characters'],
  [
    'has much that nobody named',
    { ...good, more: 'x'.repeat(limits.extra_json_bytes_max) },
    'more is none of the named',
  ],
])('an event that %s is rejected with a message that says so', (_what, event, words) => {
  const { results } = acceptBatch([event], 'sdk', now_ms, neverMinted)
  expect(results).toMatchObject([{ status: 'rejected', message: expect.stringContaining(words) }])
})
