import { gzipSync } from 'node:zlib'
import { unpackValue } from '@tributary/broker/gzip/packed-value'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { cut_receipt } from '@tributary/contracts/receipt/receipt'
import { closeRecords, type GzipBody, holdsOf } from '@tributary/gateway/event-records'
import { sdkEvent } from '@tributary/testing/builders'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { judgeAny, judgePlain } from '../../src/judge/judge-batch.ts'

const now_ms = Date.now()
const facts: EnvelopeFacts = {
  ...{ v: 1, company_id: 'co_1', app_id: 'app_1', platform: 'ios', source: 'sdk' },
  ...{ received_at_ms: now_ms, sent_at_ms: 1, ip: '192.0.2.1', user_agent: 'ü', sdk: 'b', sdk_platform: 'c' },
}
const event = fc
  .record({
    event_name: fc.oneof(
      { weight: 9, arbitrary: fc.constant('level_up') },
      fc.constantFrom('app_first_open', '_user_alias', 'app_install'),
    ),
    event_id: fc.constantFrom('1', '2', '!#~'),
    props: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
    user_id: fc.option(fc.string({ unit: 'grapheme', maxLength: 5 })),
    filler: fc.constantFrom('', 'x'.repeat(500)),
  })
  .map((change) => sdkEvent({ install_uuid: 'i-1', event_ts_ms: now_ms, ...change }))
const events = fc.array(event, { minLength: 1, maxLength: 4 }).map((all) => JSON.stringify(all))

const judgeBatch = (body: Buffer, at_ms: number, gzip: Buffer | null) =>
  judgePlain(body, at_ms, gzip) ?? judgeAny(body, at_ms)
const bodyOf = (text: string) => Buffer.from(`{"events":${text},"sent_at_ms":1}`)

function judge(body: Buffer, gzip: Buffer | null) {
  const { open, ...verdict } = judgeBatch(body, now_ms, gzip)
  const records = closeRecords(open(facts, 12), 'audit/1')
  return {
    ...verdict,
    records: records.map(({ value, ...record }) => {
      const envelope = decodeEnvelope(unpackValue(value))
      const { facts, receipts } = holdsOf(envelope.events)
      expect(record.headers).toEqual({ facts: facts ? '1' : '0', receipts: receipts ? '1' : '0' })
      return { ...record, envelope }
    }),
  }
}

test('a batch that is judged without making values of it gets the same answer, quota and records', () => {
  fc.assert(
    fc.property(events, (text) => {
      // An escape in a name is the general way.
      expect(judge(bodyOf(text), null)).toEqual(judge(Buffer.from(`{"\\u0065vents":${text},"sent_at_ms":1}`), null))
    }),
  )
})

test.each([100, 2_000, 30_000, limits.receipt_bytes_max, 40_000])(
  'a receipt of %d bytes is in the record of a batch when it fits, and cut out of it otherwise',
  (bytes) => {
    const jws = 'x'.repeat(bytes - JSON.stringify({ jws: '' }).length)
    const sale = sdkEvent({ install_uuid: 'i-1', event_ts_ms: now_ms, props: { level: 1, receipt: { jws } } })
    const other = sdkEvent({ install_uuid: 'i-1', event_ts_ms: now_ms })
    const [record] = judge(bodyOf(JSON.stringify([sale, other])), null).records
    const receipt = bytes > limits.receipt_bytes_max ? cut_receipt : { jws }
    expect(record!.envelope.events).toEqual([{ ...sale, props: { level: 1, receipt } }, other])
  },
)

test("a record holds the client's own gzip where that is worth it, and its consumer gets the same envelope", () => {
  let packed = 0
  fc.assert(
    fc.property(events, (text) => {
      const body = bodyOf(text)
      const gzip = gzipSync(body)
      const [record] = judgeBatch(body, now_ms, gzip).open(facts, 12)
      if ((record!.events as GzipBody).gzip === gzip) packed += 1
      expect(judge(body, gzip)).toEqual(judge(body, null))
    }),
  )
  expect(packed).toBeGreaterThan(20)
})

const escapeOf = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

test('the header of a record tells of its receipts, however their names are written', () => {
  const named = fc.constantFrom('receipt', 'receipt', 'receipts', 'Receipt', 'level')
  const written = fc
    .tuple(named, fc.boolean(), fc.nat({ max: 4 }))
    .map(([name, escaped, at]) => (escaped ? name.slice(0, at) + escapeOf(name[at]!) + name.slice(at + 1) : name))
  const value = fc.constantFrom('{"store":"apple","jws":"x"}', 'null', '1', '{"receipt":{}}', '[{"receipt":1}]')
  const members = fc.array(fc.tuple(written, value), { maxLength: 3 })
  const one = fc.tuple(members, fc.boolean()).map(([found, twice]) => {
    const own = JSON.stringify(sdkEvent({ install_uuid: 'i-1', event_ts_ms: now_ms, props: undefined }))
    const props = `"props":{${found.map(([name, text]) => `"${name}":${text}`).join()}}`
    return `${own.slice(0, -1)},${props}${twice ? ',"props":{}' : ''}}`
  })
  let with_receipts = 0
  fc.assert(
    fc.property(fc.array(one, { minLength: 1, maxLength: 4 }), fc.boolean(), (texts, packed) => {
      const body = bodyOf(`[${texts.join()}]`)
      const { records } = judge(body, packed ? gzipSync(body) : null)
      expect(records).toHaveLength(1)
      if (records[0]!.headers?.receipts === '1') with_receipts += 1
    }),
    { numRuns: 500 },
  )
  expect(with_receipts).toBeGreaterThan(50)
  expect(with_receipts).toBeLessThan(450)
})

test('the header of a record tells of its facts, however their names are written', () => {
  const named = fc.constantFrom('app_install', 'app_first_open', '_user_alias', 'app_instal', 'level_up')
  const written = fc
    .tuple(named, fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }))
    .map(([name, escaped]) => [...name].map((char, n) => (escaped[n] ? escapeOf(char) : char)).join(''))
  const spelled = fc.oneof(named, written)
  const one = fc.tuple(spelled, fc.option(spelled)).map(([first, second]) => {
    const own = JSON.stringify(sdkEvent({ install_uuid: 'i-1', event_ts_ms: now_ms, event_name: undefined }))
    // Of two names the last one counts.
    const names = [first, ...(second === null ? [] : [second])].map((name) => `"event_name":"${name}"`)
    return `${own.slice(0, -1)},${names.join()}}`
  })
  fc.assert(
    fc.property(fc.array(one, { minLength: 1, maxLength: 4 }), fc.boolean(), (texts, packed) => {
      const body = bodyOf(`[${texts.join()}]`)
      const { records } = judge(body, packed ? gzipSync(body) : null)
      expect(records).toHaveLength(1)
    }),
    { numRuns: 500 },
  )
})
