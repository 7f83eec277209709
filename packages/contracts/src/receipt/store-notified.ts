import { z } from 'zod'
import { stores } from './receipt.ts'
import { AppleTransaction } from './transactions.ts'

/** Folder at the root of the audit store that holds the notifications of all apps (docs/rules.md#audit-keys). */
export const notification_audit_folder = 'notifications/'

/** What a notification of Google is about; `other`: a kind that this release does not know. */
export const googleKinds = ['subscription', 'one_time', 'voided', 'test', 'other'] as const
export type GoogleKind = (typeof googleKinds)[number]

const AppleNotified = z.object({
  type: z.string().describe('`notificationType`, such as `DID_RENEW`.'),
  subtype: z.string().nullable(),
  environment: z.string().nullable().describe('`Production` or `Sandbox`; null where Apple names none.'),
  signed_at_ms: z.number().int().describe('When Apple signed it, Unix epoch ms.'),
  transaction: AppleTransaction.nullable().describe('The proven transaction; null for a notification without one.'),
})
export type AppleNotified = z.infer<typeof AppleNotified>

const GoogleNotified = z.object({
  event_time_ms: z.number().int().describe('When it happened, Unix epoch ms.'),
  kind: z.enum(googleKinds),
  notification_type: z.number().int().nullable().describe("Google's number of a subscription or one-time product."),
  purchase_token: z.string().nullable().describe('null for a test, and for a kind that is not known.'),
  product_id: z.string().nullable().describe('null where Google names none.'),
  order_id: z.string().nullable().describe('Order of a voided purchase.'),
  refund_type: z.number().int().nullable().describe('Of a voided purchase. 1: all of it, 2: a part of its quantity.'),
  product_type: z.number().int().nullable().describe('Of a voided purchase. 1: subscription, 2: one-time product.'),
})
export type GoogleNotified = z.infer<typeof GoogleNotified>

/**
 * A record of `stores.notified.v1`: a notification of a store about one app, proven at the door
 * (docs/receipts.md#notifications-of-the-stores). Its key is `<app_id>/<original id>`, and the partition follows from both, so
 * that the notifications of one purchase stay in order. The original id is that of Apple's first transaction, or the SHA-256 of
 * Google's purchase token in hex; a notification without either has its own id there. The same notification may come again.
 */
export const StoreNotified = z.object({
  v: z.literal(1).describe('Version of this shape.'),
  app_id: z.string(),
  company_id: z.string(),
  store: z.enum(stores),
  notification_id: z
    .string()
    .describe("The store's id of the notification: `notificationUUID` of Apple, `messageId` of Pub/Sub."),
  received_at_ms: z.number().int().describe('When the gateway received it, Unix epoch ms.'),
  audit_key: z.string().describe('The audit object that holds the notification as it came.'),
  apple: AppleNotified.nullable().describe('null for Google.'),
  google: GoogleNotified.nullable().describe('null for Apple.'),
})
export type StoreNotified = z.infer<typeof StoreNotified>
