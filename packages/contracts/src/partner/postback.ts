import { z } from 'zod'

/** The values that a postback gives a partner: the macros of a template and the members of a body, in this order. */
export const postbackFields = [
  ...(['click_id', 'ext_click_id', 'sub1', 'sub2', 'sub3', 'sub4', 'sub5', 'install_uuid', 'event_name'] as const),
  ...(['revenue', 'currency', 'event_ts_ms', 'reject_reason'] as const),
] as const
export type PostbackField = (typeof postbackFields)[number]

/** The content of a postback; it never changes under its `Idempotency-Key`. */
export type PostbackContent = Record<PostbackField, string | number | null>

/** The name in `events` that stands for a new attributed install, and the key of its postback. */
export const install_postback = 'install'

export const postbackMethods = ['GET', 'POST'] as const
export const flaggedChoices = ['skip', 'send'] as const

/** How a partner of an app is notified (docs/postbacks.md). */
export interface PostbackSettings {
  postback_url: string
  method: (typeof postbackMethods)[number]
  events: readonly string[]
  flagged: (typeof flaggedChoices)[number]
}

/** The end of a try. */
export const DeliveryOutcome = z.enum(['delivered', 'retry', 'dead'])
export type DeliveryOutcome = z.infer<typeof DeliveryOutcome>

/** Why a try did not deliver, besides `status_<code>` of an answer. */
export const deliveryReasons = [
  ...(['timeout', 'unresolved', 'connection', 'tls', 'target_refused', 'secret_unreadable'] as const),
  ...(['gave_up', 'partner_removed', 'bad_answer'] as const),
] as const
export type DeliveryReason = (typeof deliveryReasons)[number] | `status_${number}`
