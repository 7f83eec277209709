import type { X509Certificate } from 'node:crypto'
import { AppleNotification } from '@tributary/contracts/receipt/notifications'
import type { AppleTransaction } from '@tributary/contracts/receipt/transactions'
import { type JwsFault, type SignedKind, transactionKind, verifySigned } from './verify-jws.ts'

/** A notification that Apple signed, with the transaction in it that Apple signed too; null without one. */
export interface ProvenNotification {
  notification: AppleNotification
  environment: string | null
  transaction: AppleTransaction | null
}

/** Proves that Apple signed a notification about an app. Never throws for what a stranger sends. */
export type ProveNotification = (
  signed_payload: string,
  bundle_id: string,
) => Promise<ProvenNotification | JwsFault | 'wrong_bundle'>

/** The parts of a notification that name an app; Apple gives one. */
const partsOf = ({ data, summary, externalPurchaseToken, appData }: AppleNotification) =>
  [data, summary, externalPurchaseToken, appData].filter((part) => part !== undefined)

const notificationKind: SignedKind<AppleNotification> = {
  schema: AppleNotification,
  environmentsOf: (notification) => partsOf(notification).map(({ environment }) => environment),
}

/** Proves with these roots, in the same way as signed transactions (`verifySigned`). */
export function proveNotification(roots: readonly X509Certificate[]): ProveNotification {
  const verify = verifySigned(roots)
  return async (signed_payload, bundle_id) => {
    const notification = await verify(signed_payload, notificationKind)
    if (typeof notification === 'string') return notification
    const parts = partsOf(notification)
    if (parts.length === 0 || parts.some(({ bundleId }) => bundleId !== bundle_id)) return 'wrong_bundle'
    const environment = parts.find((part) => part.environment !== undefined)?.environment ?? null
    const signed = notification.data?.signedTransactionInfo
    if (signed === undefined) return { notification, environment, transaction: null }
    const transaction = await verify(signed, transactionKind)
    if (typeof transaction === 'string') return transaction
    return transaction.bundleId === bundle_id ? { notification, environment, transaction } : 'wrong_bundle'
  }
}
