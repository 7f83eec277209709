import type { JudgedPurchase, ReceiptReason } from '@tributary/contracts/receipt/judged-receipt'
import type { PurchaseToken } from '@tributary/contracts/receipt/receipt'
import { judgeApple } from '@tributary/domain/receipt/judge-apple'
import { judgeProduct, judgeSubscription } from '@tributary/domain/receipt/judge-google'
import { differs, type ReceiptBinding, withReason } from '@tributary/domain/receipt/judgement'
import { readReceipt } from '@tributary/domain/receipt/read-receipt'
import type { ReadAppReceipt } from '@tributary/stores/app-receipt'
import type { AppStore } from '@tributary/stores/app-store'
import type { StoreFault } from '@tributary/stores/ask'
import type { GooglePlay } from '@tributary/stores/google-play'
import type { VerifyJws } from '@tributary/stores/verify-jws'

/** What receipts of one app are judged with. */
export interface ReceiptStores {
  verify: VerifyJws
  readAppReceipt: ReadAppReceipt
  /** Null: the app has no credentials for it. */
  appStore: AppStore | null
  googlePlay: GooglePlay | null
}

/**
 * Judges `props.receipt` of an event (docs/receipts.md#verdicts-and-reasons). Asks a store where the receipt alone proves
 * nothing, once or for legacy ones of tests twice. Never throws for what a stranger sends or a store answers.
 */
export async function judgeReceipt(
  value: unknown,
  binding: ReceiptBinding,
  stores: ReceiptStores,
): Promise<JudgedPurchase> {
  const receipt = readReceipt(value)
  if (typeof receipt === 'string') return withReason(null, receipt)
  if (differs(binding.store, receipt.store)) return withReason(receipt.store, 'wrong_bundle')
  if (receipt.store === 'google') return judgeToken(receipt, binding, stores.googlePlay)
  if ('app_receipt' in receipt) return judgeAppReceipt(receipt.app_receipt, binding, stores)
  const found = await stores.verify(receipt.jws)
  return typeof found === 'string' ? withReason('apple', found) : judgeApple(found, binding)
}

/**
 * An app receipt lists every purchase that is not consumed: the one that the event names is asked for, else the first. Apple signed the receipt:
 * whoever guesses the id of a transaction has none.
 */
async function judgeAppReceipt(
  app_receipt: string,
  binding: ReceiptBinding,
  { verify, readAppReceipt, appStore }: ReceiptStores,
): Promise<JudgedPurchase> {
  const read = readAppReceipt(app_receipt)
  if (typeof read === 'string') return withReason('apple', read)
  const { bundle_id, transaction_ids: ids } = read
  if (binding.bundle_id !== null && differs(binding.bundle_id, bundle_id)) return withReason('apple', 'wrong_bundle')
  const id = binding.transaction_id ?? ids[0]
  if (!ids.includes(id)) return withReason('apple', 'wrong_transaction')
  if (appStore === null) return withReason('apple', 'no_credentials')
  const said = await appStore.ask(id)
  if (typeof said === 'string') return withReason('apple', reasonOf(said))
  const found = await verify(said.jws)
  // An answer that Apple did not sign, or about another transaction, is none.
  if (typeof found === 'string' || found.transactionId !== id) return withReason('apple', 'store_away')
  return judgeApple(found, binding)
}

async function judgeToken(
  receipt: PurchaseToken,
  binding: ReceiptBinding,
  googlePlay: GooglePlay | null,
): Promise<JudgedPurchase> {
  if (googlePlay === null) return withReason('google', 'no_credentials')
  const said = await googlePlay.ask(receipt)
  if (typeof said === 'string') return withReason('google', reasonOf(said))
  return 'product' in said
    ? judgeProduct(said.product, receipt, binding)
    : judgeSubscription(said.subscription, receipt, binding)
}

/** Credentials that a store does not take for this app are none. */
const reasonOf = (fault: StoreFault): ReceiptReason =>
  fault === 'refused' || fault === 'unknown_app' ? 'no_credentials' : fault
