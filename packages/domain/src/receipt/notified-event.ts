import { hash } from 'node:crypto'
import type { AppleNotified, GoogleNotified, StoreNotified } from '@tributary/contracts/receipt/store-notified'
import type { AppleTransaction } from '@tributary/contracts/receipt/transactions'
import { isSubscription, refundedShare } from './judge-apple.ts'

/** The event that a notification becomes (docs/receipts.md#notifications-of-the-stores). */
export interface NotifiedEvent {
  event_name: NotifiedName
  /** The store's id of the notification: one that comes again is the same event. */
  event_id: string
  event_ts_ms: number
  /** Null where Google names none. */
  transaction_id: string | null
  /** See `originalIdOf`. */
  original_id: string
  product_id: string | null
  /** Money of the transaction in `currency`, never negative, that of a refund too. Null: the store names none. */
  revenue: number | null
  currency: string | null
}

export type NotifiedName =
  | 'subscribe'
  | 'subscription_renewed'
  | 'subscription_cancelled'
  | 'subscription_refunded'
  | 'purchase_refunded'

/**
 * What ties the notifications and receipts of one purchase together: Apple's first transaction, or the SHA-256 of Google's
 * purchase token in hex. Null for a notification of no purchase.
 */
export function originalIdOf({ apple, google }: Pick<StoreNotified, 'apple' | 'google'>): string | null {
  const transaction = apple?.transaction
  if (transaction) return transaction.originalTransactionId ?? transaction.transactionId
  const token = google?.purchase_token
  return token ? hash('sha256', token) : null
}

/**
 * The event of a notification; null for a test, for what happened in the sandbox, and for a type that changes no purchase. Google
 * does not say here whether a purchase was a test, nor what it cost: the Play Developer API does.
 */
export function toNotifiedEvent(record: StoreNotified): NotifiedEvent | null {
  const original_id = originalIdOf(record)
  if (original_id === null) return null
  const fields = record.apple ? ofApple(record.apple) : record.google ? ofGoogle(record.google) : null
  return fields === null ? null : { ...fields, event_id: record.notification_id, original_id }
}

type Fields = Omit<NotifiedEvent, 'event_id' | 'original_id'>

const no_money = { revenue: null, currency: null }

/** `notificationType` of Apple that begin or go on with a subscription, and those that end one. */
const appleCharges = new Map<string, NotifiedName>([
  ['SUBSCRIBED', 'subscribe'],
  ['DID_RENEW', 'subscription_renewed'],
])
const appleEnds: readonly string[] = ['EXPIRED', 'GRACE_PERIOD_EXPIRED', 'REVOKE']

function ofApple({ type, environment, signed_at_ms, transaction }: AppleNotified): Fields | null {
  if (transaction === null || [environment, transaction.environment].some((one) => one !== 'Production')) return null
  const { transactionId: transaction_id, productId: product_id } = transaction
  const ids = { transaction_id, product_id }
  const charge = appleCharges.get(type)
  if (charge !== undefined) {
    const event_ts_ms = transaction.purchaseDate ?? signed_at_ms
    return { ...ids, event_name: charge, event_ts_ms, ...moneyOf(transaction, 1) }
  }
  const taken_back_ms = transaction.revocationDate ?? signed_at_ms
  if (appleEnds.includes(type))
    return { ...ids, event_name: 'subscription_cancelled', event_ts_ms: taken_back_ms, ...no_money }
  if (type !== 'REFUND') return null
  const event_name = isSubscription(transaction) ? 'subscription_refunded' : 'purchase_refunded'
  return { ...ids, event_name, event_ts_ms: taken_back_ms, ...moneyOf(transaction, refundedShare(transaction)) }
}

/** A part of the price. The member of a family who got a purchase of another member paid nothing. */
function moneyOf({ price, currency, inAppOwnershipType }: AppleTransaction, share: number) {
  if (price === undefined || currency === undefined || inAppOwnershipType === 'FAMILY_SHARED') return no_money
  return { revenue: Math.round(price * share) / 1000, currency }
}

/**
 * Numbers of `SubscriptionNotification` (Google, "Real-time developer notifications reference"). 3 and 7 turn the renewal off and
 * on again within a paid period; 5, 6 and 10 may end in 1 or 13.
 */
const googleNames = new Map<number | null, NotifiedName>([
  [1, 'subscription_renewed'], // recovered from account hold
  [2, 'subscription_renewed'],
  [4, 'subscribe'],
  [12, 'subscription_cancelled'], // revoked before its period was over
  [13, 'subscription_cancelled'], // expired
])

function ofGoogle(google: GoogleNotified): Fields | null {
  const { kind, event_time_ms, notification_type, product_id, order_id } = google
  const event_name =
    kind === 'voided' ? refundOf(google) : kind === 'subscription' && googleNames.get(notification_type)
  if (!event_name) return null
  return { event_name, event_ts_ms: event_time_ms, transaction_id: order_id, product_id, ...no_money }
}

const refundOf = ({ product_type }: GoogleNotified): NotifiedName =>
  product_type === 1 ? 'subscription_refunded' : 'purchase_refunded'
