import { hash } from 'node:crypto'
import type { JudgedPurchase } from '@tributary/contracts/receipt/judged-receipt'
import { isRefund, type Money } from '../money/choose-claims.ts'

/** An event that a store stands behind, as it goes to the log. */
export interface StoreEvent {
  event_name: string
  event_id: string
  event_ts_ms: number
  transaction_id?: string | null
  product_id?: string | null
  revenue?: number | null
  currency?: string | null
}

/**
 * The event of a purchase that its store took back (docs/rules.md#receipts-and-money): on the day of that, with the amount that counts of
 * its transaction. Null for a purchase that stands, a transaction of which nothing counts, or an event that is a refund itself.
 */
export function refundEvent(
  { verdict, transaction_id, product_id, taken_back_ms, refunded_share, is_subscription }: JudgedPurchase,
  event_name: string,
  counted: Money | null,
): StoreEvent | null {
  if (verdict !== 'valid' || transaction_id === null || taken_back_ms === null) return null
  if (counted === null || isRefund(event_name)) return null
  return {
    event_name: is_subscription ? 'subscription_refunded' : 'purchase_refunded',
    event_id: `refund-${isVisible(transaction_id) ? transaction_id : hash('sha256', transaction_id)}`,
    event_ts_ms: taken_back_ms,
    transaction_id,
    product_id,
    ...{ revenue: Math.round(counted.amount_micros * refunded_share) / 1e6, currency: counted.currency },
  }
}

/** Room for the word before it in an event id. */
const isVisible = (id: string): boolean => /^[\x21-\x7e]{1,100}$/.test(id)
