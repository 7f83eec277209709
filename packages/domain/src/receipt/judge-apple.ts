import type { JudgedPurchase, ReceiptReason, StorePrice } from '@tributary/contracts/receipt/judged-receipt'
import type { AppleTransaction } from '@tributary/contracts/receipt/transactions'
import { differs, genuine, type ReceiptBinding, type StoreFacts, withReason } from './judgement.ts'

/**
 * The verdict of a transaction that Apple signed (docs/receipts.md#verdicts-and-reasons). What Apple has taken back stays
 * `valid`: the money was paid on its day.
 */
export function judgeApple(transaction: AppleTransaction, binding: ReceiptBinding): JudgedPurchase {
  const { environment } = transaction
  const facts = factsOf(transaction)
  const fault = findFault(transaction, binding)
  if (fault !== null) return withReason('apple', fault, facts)
  if (environment === 'Sandbox') return genuine('apple', 'sandbox', facts)
  if (transaction.revocationDate !== undefined) return withReason('apple', takenBack(transaction), facts)
  return genuine('apple', 'valid', facts)
}

const factsOf = (transaction: AppleTransaction): StoreFacts => ({
  product_id: transaction.productId,
  transaction_id: transaction.transactionId,
  environment: transaction.environment,
  original_id: transaction.originalTransactionId ?? transaction.transactionId,
  price: priceOf(transaction),
  purchased_ms: transaction.purchaseDate ?? null,
  taken_back_ms: transaction.revocationDate ?? null,
  refunded_share: refundedShare(transaction),
  is_subscription: isSubscription(transaction),
})

/** Whether a transaction pays for a subscription that renews itself: others are purchases of a time. */
export const isSubscription = ({ type }: AppleTransaction): boolean => type === 'Auto-Renewable Subscription'

/** `revocationPercentage` of all of the price. */
const whole_percentage = 100_000

/** The part of the price that Apple paid back, 0 to 1; 1 where it names none. */
export const refundedShare = ({ revocationPercentage = whole_percentage }: AppleTransaction): number =>
  Math.min(revocationPercentage / whole_percentage, 1)

/**
 * What the buyer paid: nothing for what the family of the buyer shares, in any
 * currency. Null: Apple signed it before it named prices.
 */
export function priceOf({ price, currency, inAppOwnershipType }: AppleTransaction): StorePrice | null {
  if (price === undefined || currency === undefined) return null
  return inAppOwnershipType === 'FAMILY_SHARED'
    ? { amount_micros: 0, currency: 'USD' } // which needs no rate
    : { amount_micros: price * 1000, currency }
}

function findFault(transaction: AppleTransaction, binding: ReceiptBinding): ReceiptReason | null {
  // Xcode signs with a certificate of its own, which proves nothing.
  if (!['Production', 'Sandbox'].includes(transaction.environment)) return 'wrong_environment'
  if (binding.bundle_id === null) return 'no_credentials'
  if (differs(binding.bundle_id, transaction.bundleId)) return 'wrong_bundle'
  if (differs(binding.product_id, transaction.productId)) return 'wrong_product'
  return differs(binding.transaction_id, transaction.transactionId) ? 'wrong_transaction' : null
}

/** `revoked`: a purchase that a family shared ended for this member, and no money came back. */
function takenBack({ revocationType, inAppOwnershipType }: AppleTransaction): ReceiptReason {
  if (revocationType !== undefined) return revocationType === 'FAMILY_REVOKE' ? 'revoked' : 'refunded'
  return inAppOwnershipType === 'FAMILY_SHARED' ? 'revoked' : 'refunded'
}
