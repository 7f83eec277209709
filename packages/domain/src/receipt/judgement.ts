import {
  type JudgedPurchase,
  type ReceiptReason,
  type ReceiptVerdict,
  receiptReasons,
} from '@tributary/contracts/receipt/judged-receipt'
import type { Store } from '@tributary/contracts/receipt/receipt'

/** What a receipt must be about. An absent field is not compared. */
export interface ReceiptBinding {
  /** Bundle id or package name of the app; null: the app has none, and nothing can be compared with it. */
  bundle_id?: string | null
  /** The store of the app's platform: an app of each may have the same bundle id. */
  store?: Store
  /** What the event names; null: nothing. */
  product_id?: string | null
  transaction_id?: string | null
}

/** What the store named. */
export type StoreFacts = Omit<JudgedPurchase, 'store' | 'verdict' | 'reason'>

/** A store that names nothing. */
export const nothing: StoreFacts = {
  ...{ product_id: null, transaction_id: null, environment: null },
  ...{
    original_id: null,
    price: null,
    purchased_ms: null,
    taken_back_ms: null,
    refunded_share: 1,
    is_subscription: false,
  },
}

/** A receipt with a reason, which has one verdict only (docs/receipts.md#verdicts-and-reasons). */
export const withReason = (store: Store | null, reason: ReceiptReason, facts = nothing): JudgedPurchase => ({
  ...{ store, verdict: verdictOf.get(reason)!, reason },
  ...facts,
})

/** A genuine receipt of a purchase that money was paid for, or of a test. */
export const genuine = (store: Store, verdict: 'valid' | 'sandbox', facts: StoreFacts): JudgedPurchase => ({
  ...{ store, verdict, reason: null },
  ...facts,
})

/** Whether the event or app names another one than the store. */
export const differs = (named: string | null | undefined, found: string | null): boolean =>
  named !== undefined && named !== null && named !== found

const verdictOf = new Map<ReceiptReason | null, ReceiptVerdict>(
  Object.entries(receiptReasons).flatMap(([verdict, reasons]) =>
    reasons.map((reason) => [reason, verdict as ReceiptVerdict] as const),
  ),
)
