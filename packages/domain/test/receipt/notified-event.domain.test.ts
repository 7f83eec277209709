import { createHash } from 'node:crypto'
import type { AppleNotified, GoogleNotified, StoreNotified } from '@tributary/contracts/receipt/store-notified'
import type { AppleTransaction } from '@tributary/contracts/receipt/transactions'
import { describe, expect, test } from 'vitest'
import { originalIdOf, toNotifiedEvent } from '../../src/receipt/notified-event.ts'

const [bought_ms, signed_ms, revoked_ms] = [Date.UTC(2026, 5, 1), Date.UTC(2026, 5, 2), Date.UTC(2026, 5, 3)]
const record = { v: 1, app_id: 'app_1', company_id: 'co_1', received_at_ms: signed_ms, audit_key: 'k' } as const

const ofApple = (
  type: string,
  transaction: Partial<AppleTransaction> | null = {},
  more: Partial<AppleNotified> = {},
): StoreNotified => ({
  ...{ ...record, store: 'apple', notification_id: 'uuid-1', google: null },
  apple: {
    ...{ type, subtype: null, environment: 'Production', signed_at_ms: signed_ms },
    transaction: transaction && {
      ...{ transactionId: '101', originalTransactionId: '100', bundleId: 'com.example.run', productId: 'gold' },
      ...{ environment: 'Production', signedDate: signed_ms, purchaseDate: bought_ms },
      ...{ type: 'Auto-Renewable Subscription', price: 9990, currency: 'EUR' },
      ...transaction,
    },
    ...more,
  },
})

const ofGoogle = (google: Partial<GoogleNotified>): StoreNotified => ({
  ...{ ...record, store: 'google', notification_id: '136969346945', apple: null },
  google: {
    ...{ event_time_ms: signed_ms, kind: 'subscription', notification_type: null, purchase_token: 'token' },
    ...{ product_id: 'gold', order_id: null, refund_type: null, product_type: null },
    ...google,
  },
})

const once = { type: 'Consumable' }
const back = { revocationDate: revoked_ms }
const paid = { revenue: 9.99, currency: 'EUR' }
const nothing = { revenue: null, currency: null }

describe('a notification of Apple', () => {
  test.each([
    ['SUBSCRIBED', {}, { event_name: 'subscribe', event_ts_ms: bought_ms, ...paid }],
    ['DID_RENEW', {}, { event_name: 'subscription_renewed', event_ts_ms: bought_ms, ...paid }],
    ['DID_RENEW', { purchaseDate: undefined }, { event_name: 'subscription_renewed', event_ts_ms: signed_ms, ...paid }],
    [
      'DID_RENEW',
      { price: 0 },
      { event_name: 'subscription_renewed', event_ts_ms: bought_ms, revenue: 0, currency: 'EUR' },
    ],
    ['DID_RENEW', { price: undefined }, { event_name: 'subscription_renewed', event_ts_ms: bought_ms, ...nothing }],
    [
      'SUBSCRIBED',
      { inAppOwnershipType: 'FAMILY_SHARED' },
      { event_name: 'subscribe', event_ts_ms: bought_ms, ...nothing },
    ],
    ['EXPIRED', {}, { event_name: 'subscription_cancelled', event_ts_ms: signed_ms, ...nothing }],
    ['GRACE_PERIOD_EXPIRED', {}, { event_name: 'subscription_cancelled', event_ts_ms: signed_ms, ...nothing }],
    ['REVOKE', back, { event_name: 'subscription_cancelled', event_ts_ms: revoked_ms, ...nothing }],
    ['REFUND', back, { event_name: 'subscription_refunded', event_ts_ms: revoked_ms, ...paid }],
    ['REFUND', {}, { event_name: 'subscription_refunded', event_ts_ms: signed_ms, ...paid }],
    ['REFUND', { ...back, ...once }, { event_name: 'purchase_refunded', event_ts_ms: revoked_ms, ...paid }],
    [
      'REFUND',
      { ...back, ...once, revocationPercentage: 50_000 },
      { event_name: 'purchase_refunded', event_ts_ms: revoked_ms, revenue: 4.995, currency: 'EUR' },
    ],
    [
      'REFUND',
      { ...back, type: 'Non-Consumable' },
      { event_name: 'purchase_refunded', event_ts_ms: revoked_ms, ...paid },
    ],
  ] as const)('of the type %s about %o becomes an event', (type, transaction, event) => {
    expect(toNotifiedEvent(ofApple(type, transaction))).toEqual({
      ...{ event_id: 'uuid-1', transaction_id: '101', original_id: '100', product_id: 'gold' },
      ...event,
    })
  })

  test.each([
    ...['TEST', 'DID_CHANGE_RENEWAL_STATUS', 'DID_CHANGE_RENEWAL_PREF', 'DID_FAIL_TO_RENEW', 'OFFER_REDEEMED'],
    ...['PRICE_INCREASE', 'REFUND_DECLINED', 'REFUND_REVERSED', 'CONSUMPTION_REQUEST', 'RENEWAL_EXTENDED'],
    ...['RENEWAL_EXTENSION', 'EXTERNAL_PURCHASE_TOKEN', 'ONE_TIME_CHARGE', 'METADATA_UPDATE', 'a type of tomorrow'],
  ])('of the type %s makes no event', (type) => {
    expect(toNotifiedEvent(ofApple(type, back))).toBeNull()
  })

  test('of the sandbox, or without a transaction, makes no event', () => {
    expect(toNotifiedEvent(ofApple('DID_RENEW', { environment: 'Sandbox' }))).toBeNull()
    expect(toNotifiedEvent(ofApple('DID_RENEW', {}, { environment: 'Sandbox' }))).toBeNull()
    expect(toNotifiedEvent(ofApple('DID_RENEW', {}, { environment: null }))).toBeNull()
    expect(toNotifiedEvent(ofApple('DID_RENEW', null))).toBeNull()
  })

  test('about the first transaction names itself as the original', () => {
    expect(originalIdOf(ofApple('SUBSCRIBED', { originalTransactionId: undefined }))).toBe('101')
    expect(originalIdOf(ofApple('TEST', null))).toBeNull()
  })
})

describe('a notification of Google', () => {
  const voided = { kind: 'voided', order_id: 'GPA.1', product_id: null, refund_type: 1 } as const
  test.each([
    [{ notification_type: 1 }, 'subscription_renewed'],
    [{ notification_type: 2 }, 'subscription_renewed'],
    [{ notification_type: 4 }, 'subscribe'],
    [{ notification_type: 12 }, 'subscription_cancelled'],
    [{ notification_type: 13 }, 'subscription_cancelled'],
    [{ ...voided, product_type: 1 }, 'subscription_refunded'],
    [{ ...voided, product_type: 2 }, 'purchase_refunded'],
    [{ ...voided, product_type: 2, refund_type: 2 }, 'purchase_refunded'],
  ])('with %o becomes %s, without money', (google, event_name) => {
    const of = ofGoogle(google)
    expect(toNotifiedEvent(of)).toEqual({
      ...{ event_name, event_id: '136969346945', event_ts_ms: signed_ms, transaction_id: of.google?.order_id },
      original_id: createHash('sha256').update('token').digest('hex'),
      ...{ product_id: of.google?.product_id, ...nothing },
    })
  })

  test.each([
    ...[3, 5, 6, 7, 8, 9, 10, 11, 17, 18, 19, 20, 22, 99].map((notification_type) => ({ notification_type })),
    ...[1, 2].map((notification_type) => ({ kind: 'one_time' as const, notification_type })),
    { kind: 'test' as const, purchase_token: null },
    { kind: 'other' as const, purchase_token: null },
  ])('with %o makes no event', (google) => {
    expect(toNotifiedEvent(ofGoogle(google))).toBeNull()
  })
})
