import { limits } from '@tributary/contracts/limits'
import { cut_receipt } from '@tributary/contracts/receipt/receipt'
import { describe, expect, test } from 'vitest'
import { acceptBatch } from '../../src/accept/accept-batch.ts'
import { cutReceipt, findEventFault } from '../../src/accept/accept-event.ts'
import { readReceipt } from '../../src/receipt/read-receipt.ts'

const now_ms = Date.UTC(2026, 5, 1)
const good = { event_id: 'e-1', event_name: 'purchase', install_uuid: 'i-1', event_ts_ms: now_ms }
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })
/** An object that takes so many bytes as JSON. */
const ofBytes = (bytes: number, key = 'a') => ({ [key]: 'x'.repeat(bytes - 7 - key.length) })
const receiptOf = (bytes: number) => ofBytes(bytes, 'jws')
const full = ofBytes(limits.object_json_bytes_max)

/** What a door of bulk requests or of SDKs makes of an event. */
function accept(props: unknown, source: 'sdk' | 'bulk' = 'bulk') {
  const { accepted, results } = acceptBatch([{ ...good, props }], source, now_ms, () => 'minted')
  return { props: accepted[0]?.props, result: results[0] }
}

describe.each(['sdk', 'bulk'] as const)('an event of a %s batch', (source) => {
  test('may have 16 KiB of props and a receipt of 32 KiB, and keeps both', () => {
    const props = { ...full, receipt: receiptOf(limits.receipt_bytes_max) }
    expect(accept(props, source)).toEqual({ props, result: { event_id: 'e-1', status: 'accepted' } })
  })

  test.each<[string, unknown]>([
    ['of a byte more', receiptOf(limits.receipt_bytes_max + 1)],
    ['of a MiB', 'x'.repeat(2 ** 20)],
    ['of letters of two bytes', { jws: 'ä'.repeat(17 * 1024) }],
    ['that makes its props 9 levels deep', nested(limits.object_depth_max)],
    ['of 100 000 levels', JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
  ])('loses a receipt %s, and nothing else', (_what, receipt) => {
    const { props, result } = accept({ ...full, receipt }, source)
    expect(result).toEqual({ event_id: 'e-1', status: 'accepted' })
    expect(props).toEqual({ ...full, receipt: cut_receipt })
    expect(readReceipt(cut_receipt)).toBe('receipt_too_large')
  })

  test('keeps a receipt that makes its props 8 levels deep', () => {
    const props = { receipt: nested(limits.object_depth_max - 1) }
    expect(accept(props, source).props).toEqual(props)
  })

  test.each<[string, unknown]>([
    ['without a receipt', ofBytes(limits.object_json_bytes_max + 1)],
    ['beside a receipt', { ...ofBytes(limits.object_json_bytes_max + 1), receipt: { store: 'apple' } }],
    ['by their depth, beside a receipt', { deep: nested(limits.object_depth_max), receipt: null }],
    ['under a name like it', { receipts: 'x'.repeat(limits.object_json_bytes_max) }],
  ])('is refused for props that are too large %s', (_what, props) => {
    expect(accept(props, source).result).toMatchObject({ status: 'rejected', reason: 'invalid_field', field: 'props' })
  })

  test('may say that it has no receipt', () => {
    const props = { ...full, receipt: null }
    expect(accept(props, source).props).toEqual(props)
  })
})

test('a single event is accepted and cut as one of a batch', () => {
  for (const receipt of [receiptOf(limits.receipt_bytes_max), receiptOf(limits.receipt_bytes_max + 1), nested(30)]) {
    const event = { ...good, props: { ...full, receipt } }
    expect(findEventFault(event, 's2s', now_ms)).toBeNull()
    expect(cutReceipt(event).props).toEqual(accept(event.props).props)
  }
})
