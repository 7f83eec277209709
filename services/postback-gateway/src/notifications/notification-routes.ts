import type { ErrorCode } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { PubSubPush, SignedNotification } from '@tributary/contracts/receipt/notifications'
import type { Routes } from '@tributary/contracts/route'
import { z } from 'zod'

const NotificationReply = z.object({ ok: z.literal(true) })

const params = z.object({
  app_key: z
    .string()
    .meta({ description: 'The public app key of the app, as SDKs send it.', example: `app_live_${'0'.repeat(32)}` }),
})

const errors = [
  ...(['bad_json', 'not_found', 'bad_token', 'body_too_large', 'request_timeout', 'rate_limited'] as const),
  ...(['audit_write_failed', 'internal_error', 'unavailable'] as const),
] satisfies ErrorCode[]

const answers = {
  200: { description: 'It is durable.', schema: { NotificationReply }, example: { ok: true } },
}

const bytes_max = limits.store_notification_bytes_max

/** Where the stores send notifications of an app (docs/receipts.md#notifications-of-the-stores). */
export const notificationRoutes = {
  appleNotifies: {
    ...{ method: 'POST', path: '/store/apple/:app_key', auth: 'public', tag: 'Postbacks', params, answers, errors },
    summary: 'Take a notification of the App Store',
    description:
      'For App Store Server Notifications, version 2. Apple signed what is in the body: the chain of its certificates, the bundle id and the transaction in it are verified before anything is stored. 200 once it is durable; Apple sends again what was not answered 200.',
    body: {
      schema: { SignedNotification },
      bytes_max,
      examples: { example: { signedPayload: 'eyJhbGciOiJFUzI1NiIsIng1YyI6WyIuLi4iXX0.e30.c2lnbmF0dXJl' } },
    },
  },
  googleNotifies: {
    ...{ method: 'POST', path: '/store/google/:app_key', auth: 'public', tag: 'Postbacks', params, answers, errors },
    summary: 'Take a notification of Google Play',
    description:
      "For a push subscription of Pub/Sub with authentication. `Authorization: Bearer` holds a token that Google signed: its signature, issuer, time, audience and service account are verified against the app's settings, and so is the package name, before anything is stored. 200 once it is durable; Pub/Sub sends again what was not answered 200.",
    body: {
      schema: { PubSubPush },
      bytes_max,
      examples: {
        'a renewal': {
          message: {
            data: Buffer.from(
              JSON.stringify({
                ...{ version: '1.0', packageName: 'com.example.run', eventTimeMillis: '1780315200000' },
                subscriptionNotification: {
                  ...{ version: '1.0', notificationType: 2, purchaseToken: 'token', subscriptionId: 'gold' },
                },
              }),
            ).toString('base64'),
            messageId: '136969346945',
            publishTime: '2026-06-01T12:00:00Z',
          },
          subscription: 'projects/example/subscriptions/play',
        },
      },
    },
  },
} satisfies Routes
