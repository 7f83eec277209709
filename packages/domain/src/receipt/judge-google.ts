import { hash } from 'node:crypto'
import type { JudgedPurchase, ReceiptReason } from '@tributary/contracts/receipt/judged-receipt'
import type { PurchaseToken } from '@tributary/contracts/receipt/receipt'
import type { ProductPurchase, SubscriptionPurchase } from '@tributary/contracts/receipt/transactions'
import { differs, genuine, type ReceiptBinding, type StoreFacts, withReason } from './judgement.ts'

const environmentOf = (is_test: boolean): string => (is_test ? 'Sandbox' : 'Production')

/**
 * The verdict of a one-time product of Google Play, asked by its package name (docs/receipts.md#verdicts-and-reasons). The
 * transaction is the order. A canceled one that has no order was never paid.
 */
export function judgeProduct(
  { purchaseState, purchaseType, orderId, productId }: ProductPurchase,
  receipt: PurchaseToken,
  binding: ReceiptBinding,
): JudgedPurchase {
  const is_test = purchaseType === 0
  const facts: StoreFacts = {
    ...{ product_id: productId ?? receipt.product_id, transaction_id: orderId ?? null },
    environment: environmentOf(is_test),
    original_id: originalIdOf(receipt.purchase_token),
    ...{ price: null, purchased_ms: null, taken_back_ms: null, refunded_share: 1, is_subscription: false },
  }
  const [is_canceled, is_pending] = [purchaseState === 1, purchaseState === 2]
  const wrong = findWrong(facts, receipt, binding)
  if (wrong === 'wrong_product') return withReason('google', wrong, facts)
  if (is_pending) return withReason('google', 'pending_purchase', facts)
  if (is_canceled && orderId === undefined) return withReason('google', 'not_found', facts)
  if (wrong !== null) return withReason('google', wrong, facts)
  if (is_test) return genuine('google', 'sandbox', facts)
  return is_canceled ? withReason('google', 'refunded', facts) : genuine('google', 'valid', facts)
}

/**
 * The verdict of a subscription of Google Play. Each renewal has an order of its own, `GPA.1..0` after `GPA.1`, and Google
 * names the newest alone: an event may name it or an earlier one. Google tells of refunds by notification only.
 */
export function judgeSubscription(
  { subscriptionState, lineItems, latestOrderId, testPurchase }: SubscriptionPurchase,
  receipt: PurchaseToken,
  binding: ReceiptBinding,
): JudgedPurchase {
  const item = lineItems.find(({ productId }) => productId === receipt.product_id)
  const newest = item?.latestSuccessfulOrderId ?? latestOrderId ?? null
  const named = binding.transaction_id ?? null
  const is_test = testPurchase !== undefined
  const facts: StoreFacts = {
    product_id: item?.productId ?? lineItems[0]?.productId ?? null,
    transaction_id: named !== null && isOrderUpTo(named, newest) ? named : newest,
    environment: environmentOf(is_test),
    original_id: originalIdOf(receipt.purchase_token),
    ...{ price: null, purchased_ms: null, taken_back_ms: null, refunded_share: 1, is_subscription: true },
  }
  const wrong = findWrong(facts, receipt, binding)
  if (wrong === 'wrong_product') return withReason('google', wrong, facts)
  if (subscriptionState === 'SUBSCRIPTION_STATE_PENDING') return withReason('google', 'pending_purchase', facts)
  if (subscriptionState === 'SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED')
    return withReason('google', 'not_found', facts)
  if (wrong !== null) return withReason('google', wrong, facts)
  return genuine('google', is_test ? 'sandbox' : 'valid', facts)
}

/** Google names no original transaction in its notifications, but the token of the purchase. */
export const originalIdOf = (purchase_token: string): string => hash('sha256', purchase_token)

function findWrong(
  { product_id, transaction_id }: StoreFacts,
  receipt: PurchaseToken,
  binding: ReceiptBinding,
): ReceiptReason | null {
  if (differs(receipt.product_id, product_id) || differs(binding.product_id, product_id)) return 'wrong_product'
  return differs(binding.transaction_id, transaction_id) ? 'wrong_transaction' : null
}

/** Whether an order is the newest of its subscription, or came before it. */
function isOrderUpTo(order: string, newest: string | null): boolean {
  const [one, last] = [readOrder(order), readOrder(newest ?? '')]
  return one !== null && last !== null && one.first === last.first && one.renewal <= last.renewal
}

/** The first order and the number of the renewal, -1 without one. Null for a text that is no order. */
function readOrder(order: string): { first: string; renewal: number } | null {
  const [, first, renewal] = /^(GPA\.[\d-]+)(?:\.\.(0|[1-9]\d{0,5}))?$/.exec(order) ?? []
  return first === undefined ? null : { first, renewal: renewal === undefined ? -1 : Number(renewal) }
}
