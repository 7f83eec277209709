import { unpackValue } from '@tributary/broker/gzip/packed-value'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { cut_receipt } from '@tributary/contracts/receipt/receipt'
import { closeRecords } from '@tributary/gateway/event-records'
import { unpackRecords } from '@tributary/gateway/packed-records'
import { sdkEvent } from '@tributary/testing/builders'
import { noGeo } from '@tributary/testing/twins/no-geo'
import { expect, test } from 'vitest'
import { judgeBulk } from '../../src/judge/bulk.ts'
import { judgeEvent } from '../../src/judge/event.ts'
import { judgeAny, judgePlain } from '../../src/judge/judge-batch.ts'

const received_at_ms = Date.now()
const facts: EnvelopeFacts = {
  ...{ v: 1, company_id: 'co_1', app_id: 'app_1', platform: 'ios', source: 's2s', received_at_ms, sent_at_ms: 0 },
  ...{ ip: '192.0.2.1', user_agent: 'a', sdk: '', sdk_platform: '' },
}
const input = {
  facts,
  partitions: 12,
  key: { platform: 'ios', allowed_events: [] as string[] },
  geo: noGeo.tables(),
} as const
const eventsOf = (records: ReturnType<typeof closeRecords>) =>
  records.flatMap(({ value }) => decodeEnvelope(unpackValue(value)).events)

/** What the log and the audit store hold of an event that each door accepted. */
function throughDoors(event: object) {
  const [single, bulk] = [event, { events: [event] }].map((body) => Buffer.from(JSON.stringify(body)))
  const [one, many] = [judgeEvent(single!, single!, input), judgeBulk(bulk!, bulk!, { ...input, audit_key: 'audit/1' })]
  const batch = judgePlain(bulk!, received_at_ms, null) ?? judgeAny(bulk!, received_at_ms)
  return {
    logged: [
      closeRecords(one.open, 'audit/1'),
      unpackRecords(many.records),
      closeRecords(batch.open(facts, 12), 'audit/1'),
    ].map(eventsOf),
    audited: [one.object, many.object],
  }
}

test.each([
  ['of 32 KiB is on the log', limits.receipt_bytes_max, true],
  ['of more is not, and all else of its event is', limits.receipt_bytes_max + 1, false],
])('at each door a receipt %s; the audit store has it', (_what, bytes, is_logged) => {
  const receipt = { jws: 'x'.repeat(bytes - JSON.stringify({ jws: '' }).length) }
  const event = sdkEvent({ install_uuid: 'i-1', event_ts_ms: received_at_ms, props: { level: 1, receipt } })
  const { logged, audited } = throughDoors(event)
  const expected = { ...event, props: { level: 1, receipt: is_logged ? receipt : cut_receipt } }
  expect(logged).toEqual([[expected], [expected], [expected]])
  for (const object of audited) expect(object.includes(receipt.jws)).toBe(true)
})
