import { CodedError } from '@tributary/contracts/errors'
import { DeveloperNotification, PubSubPush, SignedNotification } from '@tributary/contracts/receipt/notifications'
import { parseJson } from '@tributary/service-kit/http/parse-json'

/** The JWS in a notification of Apple. Nothing is proven. Throws `bad_json`. */
export function readSignedPayload(body: Buffer): string {
  const read = SignedNotification.safeParse(parseJson(body))
  if (!read.success) throw unreadable('The body has no text signedPayload.')
  return read.data.signedPayload
}

/** A message of Pub/Sub and the notification of Google in it. Nothing is proven. */
export interface ReadPush {
  message_id: string
  notification: DeveloperNotification
}

/** Throws `bad_json`. */
export function readPush(body: Buffer): ReadPush {
  const push = PubSubPush.safeParse(parseJson(body))
  if (!push.success) throw unreadable('The body has no message with data and messageId.')
  const { data, messageId } = push.data.message
  const notification = DeveloperNotification.safeParse(parseJson(Buffer.from(data, 'base64')))
  if (!notification.success) throw unreadable('The data of the message is no notification of Google Play.')
  return { message_id: messageId, notification: notification.data }
}

const unreadable = (message: string): CodedError => new CodedError('bad_json', { message })
