import type { Store } from './receipt.ts'

/** Verdicts, each with the reasons that it may have (docs/receipts.md#verdicts-and-reasons). Null: nothing to add. */
export const receiptReasons = {
  valid: [null, 'refunded', 'revoked', 'reused'],
  invalid: [
    ...(['malformed', 'receipt_too_large', 'bad_signature', 'untrusted_chain', 'expired_certificate'] as const),
    ...(['wrong_bundle', 'wrong_product', 'wrong_transaction', 'wrong_environment', 'not_found'] as const),
  ],
  sandbox: [null],
  unverified: ['pending_purchase', 'no_credentials', 'store_away'],
} as const

export type ReceiptVerdict = keyof typeof receiptReasons
export type ReceiptReason = NonNullable<(typeof receiptReasons)[ReceiptVerdict][number]>
export const receiptVerdicts = Object.keys(receiptReasons) as [ReceiptVerdict, ...ReceiptVerdict[]]
/** The reasons of all verdicts. */
export const allReceiptReasons = Object.values(receiptReasons)
  .flat()
  .filter((reason) => reason !== null)

/** What is known of a receipt. The ids are those that the store names; null without a proven or asked transaction. */
export interface JudgedReceipt {
  /** Null for a receipt that names none. */
  store: Store | null
  verdict: ReceiptVerdict
  reason: ReceiptReason | null
  product_id: string | null
  transaction_id: string | null
  /** As the store names it; Google has no word for it: `Production`, `Sandbox` for test purchases. */
  environment: string | null
}

/** The same with what money and later notifications follow from. */
export interface JudgedPurchase extends JudgedReceipt {
  /** What all transactions of one purchase have in common: Apple's original transaction, the SHA-256 of Google's token. */
  original_id: string | null
  /** What the store was paid; null: it names no price. */
  price: StorePrice | null
  /** When it was bought, as the store says, Unix epoch ms; null: it does not. */
  purchased_ms: number | null
  /** When the store took the purchase back, Unix epoch ms. */
  taken_back_ms: number | null
  /** The part of the price that it paid back, 0 to 1; 1 while it took nothing back. */
  refunded_share: number
  /** Whether it is a subscription. */
  is_subscription: boolean
}

export interface StorePrice {
  amount_micros: number
  /** ISO 4217 alpha-3 in upper case. */
  currency: string
}
