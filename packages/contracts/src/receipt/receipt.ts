import { z } from 'zod'
import type { Platform } from '../event/envelope.ts'
import { limits } from '../limits.ts'

/** The stores that sell what apps are paid for. */
export const stores = ['apple', 'google'] as const
export type Store = (typeof stores)[number]

/** A signed transaction of StoreKit 2. */
const SignedTransaction = z.strictObject({ store: z.literal('apple'), jws: z.string().min(1) })
/** The receipt file of an app before StoreKit 2, base64. */
const AppReceipt = z.strictObject({ store: z.literal('apple'), app_receipt: z.string().min(1) })
/** A purchase of Google Play; no `subscription` is a one-time product. Both ids stand in a path: none is a dot segment. */
const PurchaseToken = z.strictObject({
  store: z.literal('google'),
  purchase_token: z
    .string()
    .regex(/^\w[!-~]*$/)
    .max(limits.purchase_token_chars_max),
  product_id: z
    .string()
    .regex(/^\w[\w.-]*$/)
    .max(limits.receipt_id_chars_max),
  subscription: z.boolean().optional(),
})
export type PurchaseToken = z.infer<typeof PurchaseToken>

/** Stands in the log where a receipt was too large or too deep; only the audit store has it. */
export const cut_receipt = 'receipt_too_large'

/** `props.receipt` of an event (docs/receipts.md#the-receipt-of-an-event). Nothing in it is proven. */
export const Receipt = z.union([SignedTransaction, AppReceipt, PurchaseToken])
export type Receipt = z.infer<typeof Receipt>

/** `props.receipt` of an event as it was sent; null without one. */
export function receiptOf(event: object): unknown {
  const { props } = event as { props?: unknown }
  if (typeof props !== 'object' || props === null || !Object.hasOwn(props, 'receipt')) return null
  return (props as { receipt?: unknown }).receipt ?? null
}

/** Header of records of `events.accepted.v1`: `1` when an event has a receipt or the source is `store`, else `0`. */
export const receiptsHeader = 'receipts'

/** The store of a platform. */
export const storeOf = (platform: Platform): Store => (platform === 'ios' ? 'apple' : 'google')
