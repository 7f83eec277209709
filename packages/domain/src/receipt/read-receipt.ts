import { limits } from '@tributary/contracts/limits'
import { cut_receipt, Receipt, type Store } from '@tributary/contracts/receipt/receipt'

/** `props.receipt` of an event, or the reason why it is none (docs/receipts.md#the-receipt-of-an-event). */
export function readReceipt(value: unknown): Receipt | 'malformed' | 'receipt_too_large' {
  if (value === cut_receipt) return 'receipt_too_large'
  const json = JSON.stringify(value) ?? ''
  if (Buffer.byteLength(json) > limits.receipt_bytes_max) return 'receipt_too_large'
  const read = Receipt.safeParse(value)
  return read.success ? read.data : 'malformed'
}

/** The store that has to be asked about `props.receipt`; null where it proves itself, or is none. */
export function storeToAsk(value: unknown): Store | null {
  const receipt = readReceipt(value)
  return typeof receipt === 'string' || 'jws' in receipt ? null : receipt.store
}
