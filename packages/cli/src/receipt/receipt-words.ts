import { limits } from '@tributary/contracts/limits'
import type { JudgedReceipt, ReceiptReason } from '@tributary/contracts/receipt/judged-receipt'

const words: Record<ReceiptReason, string> = {
  malformed:
    'It is no receipt: neither a signed transaction, nor an app receipt with a purchase, nor a token of Google.',
  receipt_too_large: `It is larger than ${limits.receipt_bytes_max / 1024} KiB.`,
  bad_signature: 'Its signature is not that of its certificate: somebody changed it, or made it up.',
  untrusted_chain: 'Its certificates do not come from Apple.',
  expired_certificate: 'Its certificate was not valid on the date of the signature.',
  wrong_bundle: 'It is of another app.',
  wrong_product: 'It is of another product.',
  wrong_transaction: 'It is of another transaction.',
  wrong_environment: 'It was made by Xcode or by another environment than the App Store, and proves nothing.',
  not_found: 'The store knows no such purchase.',
  refunded: 'It is genuine, and the store has paid the money back.',
  revoked: 'It is genuine, and the family no longer shares the purchase.',
  reused: 'It is genuine, and counts for another install.',
  pending_purchase: 'The store waits for the payment.',
  no_credentials: 'Only the store can tell whether it is genuine, and the app has no credentials that the store takes.',
  store_away: 'The store gave no answer.',
}

/** Says in a sentence what a receipt is. */
export function receiptText({ verdict, reason }: Pick<JudgedReceipt, 'verdict' | 'reason'>): string {
  if (reason !== null) return words[reason]
  return verdict === 'sandbox'
    ? 'It is genuine, and of a test: nobody paid for it.'
    : 'It is genuine: the store confirms the purchase.'
}

/** The same of a receipt that no store was asked about. */
export const offlineText = (judged: JudgedReceipt): string =>
  judged.reason === 'no_credentials'
    ? 'Only the store can tell whether it is genuine, and this command asks none.'
    : receiptText(judged)
