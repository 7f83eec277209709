import { limits } from '@tributary/contracts/limits'
import type { JudgedPurchase } from '@tributary/contracts/receipt/judged-receipt'
import { expect, test } from 'vitest'
import { findEventFault } from '../../src/accept/accept-event.ts'
import { refundEvent } from '../../src/receipt/refund-event.ts'

const taken_back_ms = Date.UTC(2026, 5, 9)
const refunded: JudgedPurchase = {
  ...{ store: 'apple', verdict: 'valid', reason: 'refunded', environment: 'Production' },
  ...{ product_id: 'coins_100', transaction_id: '2000', original_id: '2000' },
  ...{
    price: { amount_micros: 7_000_000, currency: 'EUR' },
    purchased_ms: null,
    taken_back_ms,
    refunded_share: 1,
    is_subscription: false,
  },
}
const counted = { amount_micros: 4_990_001, currency: 'USD' }

test('a purchase that its store took back is a refund of what counts, on the day of that', () => {
  expect(refundEvent(refunded, 'purchase', counted)).toEqual({
    ...{ event_name: 'purchase_refunded', event_id: 'refund-2000', event_ts_ms: taken_back_ms },
    ...{ transaction_id: '2000', product_id: 'coins_100', revenue: 4.990001, currency: 'USD' },
  })
  expect(refundEvent({ ...refunded, product_id: null }, 'purchase', counted)).toMatchObject({ product_id: null })
  expect(refundEvent({ ...refunded, refunded_share: 0.5 }, 'purchase', counted)).toMatchObject({ revenue: 2.495001 })
})

test.each<[string, Partial<JudgedPurchase>, string, string]>([
  [
    'a subscription, by what the store says and not by its name',
    { is_subscription: true },
    'purchase',
    'subscription_refunded',
  ],
  ['an event of any name', {}, 'coins', 'purchase_refunded'],
  ['what a family shared and shares no more', { reason: 'revoked' }, 'purchase', 'purchase_refunded'],
])('there is a refund of %s', (_what, judged, event_name, refund) => {
  expect(refundEvent({ ...refunded, ...judged }, event_name, counted)?.event_name).toBe(refund)
})

test.each<[string, Partial<JudgedPurchase>, string, typeof counted | null]>([
  ['a purchase that stands', { reason: null, refunded_share: 1, taken_back_ms: null }, 'purchase', counted],
  ['one that counts nothing, as a reused one', {}, 'purchase', null],
  ['a test', { verdict: 'sandbox', reason: null }, 'purchase', counted],
  ['what nobody could verify', { verdict: 'unverified', reason: 'store_away' }, 'purchase', counted],
  ['a refund of a purchase', {}, 'purchase_refunded', counted],
  ['a refund of a subscription', {}, 'subscription_refunded', counted],
  ['an order without a name', { transaction_id: null }, 'purchase', counted],
])('there is no refund of %s', (_what, judged, event_name, money) => {
  expect(refundEvent({ ...refunded, ...judged }, event_name, money)).toBeNull()
})

test('any id of a store makes an event that is accepted, and the same one each time', () => {
  const ids = ['2000', 'GPA.1-2..3', 'a b', 'ä', '\u0000', '\ud800', 'x'.repeat(100), 'x'.repeat(101)]
  const events = ids.concat('x'.repeat(limits.receipt_id_chars_max)).map((transaction_id) => {
    const event = refundEvent({ ...refunded, transaction_id }, 'purchase', counted)!
    expect(refundEvent({ ...refunded, transaction_id }, 'coins', counted)?.event_id).toBe(event.event_id)
    expect(event.transaction_id).toBe(transaction_id)
    expect(findEventFault({ ...event, install_uuid: 'i-1' }, 's2s', taken_back_ms)).toBeNull()
    return event
  })
  expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length)
})
