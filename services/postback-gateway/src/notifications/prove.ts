import type { DeveloperNotification } from '@tributary/contracts/receipt/notifications'
import type { GoogleNotified, StoreNotified } from '@tributary/contracts/receipt/store-notified'
import type { ProveNotification, ProvenNotification } from '@tributary/stores/prove-notification'
import type { ProvePush } from '@tributary/stores/push-token'
import type { NotifiedApp } from '@tributary/tenancy/stores/notified-apps'
import type { ReadPush } from './read-notification.ts'

/** Facts of a record that a proven notification gives. */
export type Proven = Pick<StoreNotified, 'notification_id' | 'apple' | 'google'>

/** Why a notification is not taken, for the log; `keys_away`: nobody can tell yet. */
export type Unproven = { fault: string }

const unproven = (fault: string): Unproven => ({ fault })

/** Proves that Apple notifies about this app. */
export async function proveApple(
  prove: ProveNotification,
  signed_payload: string,
  { platform, bundle_id }: NotifiedApp,
): Promise<Proven | Unproven> {
  if (platform !== 'ios') return unproven('wrong_platform')
  if (bundle_id === null) return unproven('no_bundle_id')
  const proven = await prove(signed_payload, bundle_id)
  return typeof proven === 'string' ? unproven(proven) : ofApple(proven)
}

const ofApple = ({ notification, environment, transaction }: ProvenNotification): Proven => ({
  notification_id: notification.notificationUUID,
  apple: {
    ...{ type: notification.notificationType, subtype: notification.subtype ?? null },
    ...{ environment, signed_at_ms: notification.signedDate, transaction },
  },
  google: null,
})

/** What a push came with: its header `Authorization`, and the addresses to which it may have come. */
export interface PushRequest {
  authorization: string | undefined
  addresses: readonly string[]
}

/** Proves that Google pushes about this app. */
export async function proveGoogle(
  prove: ProvePush,
  { message_id, notification }: ReadPush,
  { authorization, addresses }: PushRequest,
  { platform, bundle_id, google_push_audience, google_push_email: email }: NotifiedApp,
): Promise<Proven | Unproven> {
  if (platform !== 'android') return unproven('wrong_platform')
  if (email === null) return unproven('no_push_email')
  const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
  if (token === undefined) return unproven('no_token')
  if (bundle_id !== notification.packageName) return unproven('wrong_bundle')
  const audiences = google_push_audience === null ? addresses : [google_push_audience]
  const fault = await prove(token, { audiences, email })
  return fault === null ? { notification_id: message_id, apple: null, google: ofGoogle(notification) } : unproven(fault)
}

const nothing = {
  ...{ notification_type: null, purchase_token: null, product_id: null, order_id: null },
  ...{ refund_type: null, product_type: null },
}

function ofGoogle(notification: DeveloperNotification): GoogleNotified {
  const { subscriptionNotification: subscription, oneTimeProductNotification: product } = notification
  const { voidedPurchaseNotification: voided, testNotification: test } = notification
  const base = { ...nothing, event_time_ms: notification.eventTimeMillis }
  if (subscription) {
    const { notificationType: notification_type, purchaseToken: purchase_token, subscriptionId } = subscription
    return { ...base, kind: 'subscription', notification_type, purchase_token, product_id: subscriptionId ?? null }
  }
  if (product) {
    const { notificationType: notification_type, purchaseToken: purchase_token, sku } = product
    return { ...base, kind: 'one_time', notification_type, purchase_token, product_id: sku ?? null }
  }
  if (voided) {
    const { purchaseToken: purchase_token, orderId, productType: product_type, refundType } = voided
    return {
      ...{ ...base, kind: 'voided', purchase_token, order_id: orderId ?? null },
      ...{ product_type, refund_type: refundType ?? null },
    }
  }
  return { ...base, kind: test ? 'test' : 'other' }
}
