import { z } from 'zod'
import { limits } from '../limits.ts'

const id = z.string().min(1).max(limits.receipt_id_chars_max)
const word = z.string().max(limits.receipt_id_chars_max)

/** An id of a notification becomes the `event_id` of its event. */
const notification_id = z.string().regex(/^[\x21-\x7e]{1,128}$/)

/** The part of a notification of Apple that names its app. Only transactions are read of the rest. */
const OfApp = z.object({
  bundleId: id,
  environment: word.optional(),
  /** A signed transaction. */
  signedTransactionInfo: z.string().optional(),
})

/**
 * `responseBodyV2DecodedPayload` of the App Store Server Notifications: the fields that are read. Apple gives one of the four
 * parts, by the type. Times are Unix epoch ms.
 */
export const AppleNotification = z.object({
  notificationType: id,
  subtype: word.optional(),
  notificationUUID: notification_id,
  signedDate: z.int(),
  data: OfApp.optional(),
  summary: OfApp.optional(),
  externalPurchaseToken: OfApp.optional(),
  appData: OfApp.optional(),
})
export type AppleNotification = z.infer<typeof AppleNotification>

/** A whole number that Google writes as text. */
const int64 = z
  .union([z.int(), z.string().regex(/^\d{1,15}$/)])
  .transform(Number)
  .refine((value) => value >= 0)

const purchaseToken = z.string().min(1)

/** `DeveloperNotification` of the real-time developer notifications of Google Play: the fields that are read. */
export const DeveloperNotification = z.object({
  packageName: id,
  eventTimeMillis: int64,
  subscriptionNotification: z
    .object({ notificationType: z.int(), purchaseToken, subscriptionId: id.optional() })
    .optional(),
  oneTimeProductNotification: z.object({ notificationType: z.int(), purchaseToken, sku: id.optional() }).optional(),
  /** `productType` 1: subscription, 2: one-time; `refundType` 1: all of it, 2: a part of its quantity. */
  voidedPurchaseNotification: z
    .object({ purchaseToken, orderId: id.optional(), productType: z.int(), refundType: z.int().optional() })
    .optional(),
  testNotification: z.object({}).optional(),
})
export type DeveloperNotification = z.infer<typeof DeveloperNotification>

/** What Pub/Sub pushes: a message whose `data` is a `DeveloperNotification` as JSON in base64. */
export const PubSubPush = z.looseObject({
  message: z.looseObject({
    data: z.string().min(1).describe('A `DeveloperNotification` as JSON, in base64.'),
    messageId: notification_id.describe('Id of the message; the same when Pub/Sub sends it again.'),
    publishTime: z.string().optional(),
  }),
  subscription: z.string().optional(),
})
export type PubSubPush = z.infer<typeof PubSubPush>

/** What Apple sends: a JWS whose payload is an `AppleNotification`. */
export const SignedNotification = z.looseObject({
  signedPayload: z.string().min(1).describe('A JWS, with its certificates in the header.'),
})
export type SignedNotification = z.infer<typeof SignedNotification>
