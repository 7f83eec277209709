import { receiptReasons } from '@tributary/contracts/receipt/judged-receipt'
import type { PurchaseToken } from '@tributary/contracts/receipt/receipt'
import type { AppleTransaction, ProductPurchase, SubscriptionPurchase } from '@tributary/contracts/receipt/transactions'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { judgeApple } from '../../src/receipt/judge-apple.ts'
import { judgeProduct, judgeSubscription } from '../../src/receipt/judge-google.ts'
import type { ReceiptBinding } from '../../src/receipt/judgement.ts'
import { readReceipt } from '../../src/receipt/read-receipt.ts'

const token: PurchaseToken = { store: 'google', purchase_token: 'abc.AO-J1Ox', product_id: 'coins_100' }

describe('the receipt of an event', () => {
  test.each([
    [{ store: 'apple', jws: 'a.b.c' }],
    [{ store: 'apple', app_receipt: 'MII=' }],
    [token],
    [{ ...token, subscription: true }],
    [{ ...token, purchase_token: 'a'.repeat(2048) }],
  ])('%o is one', (receipt) => {
    expect(readReceipt(receipt)).toEqual(receipt)
  })

  test.each([
    [undefined],
    [null],
    ['a.b.c'],
    [[]],
    [{}],
    [{ store: 'apple' }],
    [{ store: 'apple', jws: '' }],
    [{ store: 'apple', jws: 'a.b.c', app_receipt: 'MII=' }],
    [{ store: 'amazon', jws: 'a.b.c' }],
    [{ ...token, product_id: undefined }],
    [{ ...token, product_id: '..' }],
    [{ ...token, product_id: 'coins/100' }],
    [{ ...token, purchase_token: '..' }],
    [{ ...token, purchase_token: 'a b' }],
    [{ ...token, purchase_token: 'a'.repeat(2049) }],
    [{ ...token, subscription: 'yes' }],
    [{ ...token, price: 1 }],
  ])('%o is malformed', (value) => {
    expect(readReceipt(value)).toBe('malformed')
  })

  test('32 KiB of JSON are read, one byte more is too large, whatever it holds', () => {
    const of = (bytes: number, letter = 'a') => ({ store: 'apple', jws: letter.repeat(bytes) })
    const frame = JSON.stringify(of(0)).length
    expect(readReceipt(of(32 * 1024 - frame))).toMatchObject({ store: 'apple' })
    expect(readReceipt(of(32 * 1024 - frame + 1))).toBe('receipt_too_large')
    expect(readReceipt(of(17 * 1024, 'ä'))).toBe('receipt_too_large')
    expect(readReceipt('x'.repeat(33 * 1024))).toBe('receipt_too_large')
  })
})

const bought: AppleTransaction = {
  ...{ transactionId: '2000', bundleId: 'com.example.run', productId: 'coins_100', environment: 'Production' },
  ...{ signedDate: Date.UTC(2026, 5, 1), inAppOwnershipType: 'PURCHASED' },
}
const apple: ReceiptBinding = { bundle_id: 'com.example.run', product_id: 'coins_100', transaction_id: '2000' }
const revocationDate = Date.UTC(2026, 5, 9)

test.each<[string, Partial<AppleTransaction>, ReceiptBinding, string, string | null]>([
  ['what the event names', {}, {}, 'valid', null],
  ['an event that names nothing', {}, { product_id: null, transaction_id: null }, 'valid', null],
  ['another bundle', { bundleId: 'com.example.other' }, {}, 'invalid', 'wrong_bundle'],
  ['an app without a bundle id', {}, { bundle_id: null }, 'unverified', 'no_credentials'],
  ['another product', { productId: 'coins_1' }, {}, 'invalid', 'wrong_product'],
  ['another transaction', { transactionId: '2001' }, {}, 'invalid', 'wrong_transaction'],
  ['the sandbox', { environment: 'Sandbox' }, {}, 'sandbox', null],
  ['the sandbox, taken back', { environment: 'Sandbox', revocationDate }, {}, 'sandbox', null],
  ['the sandbox of another app', { environment: 'Sandbox', bundleId: 'x' }, {}, 'invalid', 'wrong_bundle'],
  ['Xcode', { environment: 'Xcode' }, {}, 'invalid', 'wrong_environment'],
  ['an environment of tomorrow', { environment: 'Moon' }, {}, 'invalid', 'wrong_environment'],
  ['a refund', { revocationDate }, {}, 'valid', 'refunded'],
  ['a refund in part', { revocationDate, revocationType: 'REFUND_PRORATED' }, {}, 'valid', 'refunded'],
  ['the end of a shared purchase', { revocationDate, inAppOwnershipType: 'FAMILY_SHARED' }, {}, 'valid', 'revoked'],
  ['the same by its type', { revocationDate, revocationType: 'FAMILY_REVOKE' }, {}, 'valid', 'revoked'],
])('a transaction of Apple with %s', (_what, transaction, binding, verdict, reason) => {
  const judged = judgeApple({ ...bought, ...transaction }, { ...apple, ...binding })
  expect(judged).toMatchObject({ store: 'apple', verdict, reason })
  expect(judged.product_id).toBe({ ...bought, ...transaction }.productId)
})

test.each<[string, Partial<AppleTransaction>, object | null]>([
  ['thousandths of its currency', { price: 4990, currency: 'EUR' }, { amount_micros: 4_990_000, currency: 'EUR' }],
  ['nothing, when it was free', { price: 0, currency: 'EUR' }, { amount_micros: 0, currency: 'EUR' }],
  [
    'nothing for a member of the family of the buyer',
    { price: 4990, currency: 'EUR', inAppOwnershipType: 'FAMILY_SHARED' },
    { amount_micros: 0, currency: 'USD' },
  ],
  ['an unknown amount, when it is an old one', {}, null],
  ['an unknown amount, without a currency', { price: 4990 }, null],
])('a transaction of Apple was paid %s', (_what, transaction, price) => {
  expect(judgeApple({ ...bought, ...transaction }, apple).price).toEqual(price)
})

const paid: ProductPurchase = { purchaseState: 0, orderId: 'GPA.1-2' }
const google: ReceiptBinding = { product_id: 'coins_100', transaction_id: 'GPA.1-2' }

test.each<[string, Partial<ProductPurchase>, ReceiptBinding, string, string | null]>([
  ['what the event names', {}, {}, 'valid', null],
  ['its own product', { productId: 'coins_100' }, {}, 'valid', null],
  ['another product', { productId: 'coins_1' }, {}, 'invalid', 'wrong_product'],
  ['a product that the event does not name', {}, { product_id: 'coins_1' }, 'invalid', 'wrong_product'],
  ['another order', { orderId: 'GPA.9' }, {}, 'invalid', 'wrong_transaction'],
  ['a purchase by a tester', { purchaseType: 0 }, {}, 'sandbox', null],
  ['a promotion', { purchaseType: 1, orderId: undefined }, { transaction_id: null }, 'valid', null],
  ['a payment to come', { purchaseState: 2, orderId: undefined }, {}, 'unverified', 'pending_purchase'],
  ['a payment that never came', { purchaseState: 1, orderId: undefined }, {}, 'invalid', 'not_found'],
  ['a refund', { purchaseState: 1 }, {}, 'valid', 'refunded'],
])('a product of Google with %s', (_what, purchase, binding, verdict, reason) => {
  const judged = judgeProduct({ ...paid, ...purchase }, token, { ...google, ...binding })
  expect(judged).toMatchObject({ store: 'google', verdict, reason })
})

const subscribed: SubscriptionPurchase = {
  subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE',
  lineItems: [{ productId: 'coins_100', latestSuccessfulOrderId: 'GPA.1-2..3' }],
}

test.each<[string, Partial<SubscriptionPurchase>, ReceiptBinding, string, string | null]>([
  ['its first order', {}, { transaction_id: 'GPA.1-2' }, 'valid', null],
  ['an earlier renewal', {}, { transaction_id: 'GPA.1-2..2' }, 'valid', null],
  ['its newest renewal', {}, { transaction_id: 'GPA.1-2..3' }, 'valid', null],
  ['a renewal that was never', {}, { transaction_id: 'GPA.1-2..4' }, 'invalid', 'wrong_transaction'],
  ['a renewal that is none', {}, { transaction_id: 'GPA.1-2..x' }, 'invalid', 'wrong_transaction'],
  ['another order', {}, { transaction_id: 'GPA.1-3' }, 'invalid', 'wrong_transaction'],
  ['no order of the event', {}, {}, 'valid', null],
  [
    'the field of before',
    { lineItems: [{ productId: 'coins_100' }], latestOrderId: 'GPA.7' },
    { transaction_id: 'GPA.7' },
    'valid',
    null,
  ],
  ['another product', { lineItems: [{ productId: 'gold' }] }, {}, 'invalid', 'wrong_product'],
  ['no product', { lineItems: [] }, {}, 'invalid', 'wrong_product'],
  ['a test', { testPurchase: {} }, {}, 'sandbox', null],
  ['a payment to come', { subscriptionState: 'SUBSCRIPTION_STATE_PENDING' }, {}, 'unverified', 'pending_purchase'],
  [
    'a payment that never came',
    { subscriptionState: 'SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED' },
    {},
    'invalid',
    'not_found',
  ],
  ['an end', { subscriptionState: 'SUBSCRIPTION_STATE_EXPIRED' }, {}, 'valid', null],
])('a subscription of Google with %s', (_what, purchase, binding, verdict, reason) => {
  const judged = judgeSubscription({ ...subscribed, ...purchase }, token, binding)
  expect(judged).toMatchObject({ store: 'google', verdict, reason })
  if (verdict === 'valid' && binding.transaction_id) expect(judged.transaction_id).toBe(binding.transaction_id)
})

test('a receipt counts only for the app, the product and the transaction that it is of, and its reason fits its verdict', () => {
  const few = fc.constantFrom('a', 'b')
  const named = fc.option(few, { nil: null })
  fc.assert(
    fc.property(
      fc.record({ bundle_id: named, product_id: named, transaction_id: named }),
      fc.record({
        transactionId: few,
        bundleId: few,
        productId: few,
        environment: fc.constantFrom('Production', 'Sandbox', 'Xcode', 'x'),
      }),
      fc.option(fc.constant(revocationDate), { nil: undefined }),
      (binding, said, revoked) => {
        const transaction = { ...said, signedDate: 0, ...(revoked !== undefined && { revocationDate: revoked }) }
        const { verdict, reason } = judgeApple(transaction, binding)
        const fits =
          binding.bundle_id === said.bundleId &&
          [null, said.productId].includes(binding.product_id) &&
          [null, said.transactionId].includes(binding.transaction_id)
        expect(verdict === 'valid').toBe(fits && said.environment === 'Production')
        expect(verdict === 'sandbox').toBe(fits && said.environment === 'Sandbox')
        expect(receiptReasons[verdict]).toContain(reason)
      },
    ),
  )
})
