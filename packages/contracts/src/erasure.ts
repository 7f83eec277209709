import { hash } from 'node:crypto'
import { z } from 'zod'
import { idShape } from './event/envelope.ts'

const id = z.string().regex(idShape)

/**
 * One record of `erasures.requested.v1`: a request to erase all data of an install that was received up to
 * `requested_at_ms`. The latest time of an install counts, so a record that comes twice, or is read again, changes nothing
 * (docs/adr/0040).
 */
export const ErasureRequest = z.object({
  v: z.literal(1).describe('Version of this shape. Another one comes with another topic.'),
  company_id: id,
  app_id: id,
  install_uuid: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .describe('Compared exactly, as in events.'),
  requested_at_ms: z
    .number()
    .int()
    .describe("Unix epoch ms, the gateway's clock: all that was received until then is to be erased."),
  audit_key: z.string().describe('The audit object that holds the request.'),
})
export type ErasureRequest = z.infer<typeof ErasureRequest>

/** Body of `/privacy/delete`; other fields are ignored. */
export const ErasureAsked = ErasureRequest.pick({ install_uuid: true })

/** 202 of `/privacy/delete`. */
export const ErasureReply = z.object({ ok: z.literal(true), queued: z.literal(true) })

/**
 * Counter with the time of a request that is durable, Unix epoch ms: the install is queued for erasure if that is after what
 * `erasures_begun_key` holds (docs/adr/0197). An erasure removes it. It names no install: Redis writes down each name that it
 * ever had, and keeps that until it rewrites its file (docs/adr/0370).
 */
export const queuedErasureKey = (app_id: string, install_uuid: string): string =>
  `erasure:${app_id}:${hash('sha256', `${app_id}/${install_uuid}`, 'base64url')}`

/** The mark of an earlier version, which its gateways look for. It names the install, and goes with the erasure. */
export const namedErasureKey = (app_id: string, install_uuid: string): string => `erasure:${app_id}:${install_uuid}`

/**
 * Counter with a time, Unix epoch ms, that every erasure which has begun covers requests up to, at most. The eraser raises it
 * before it fixes the mark of an erasure. Kept for ever.
 */
export const erasures_begun_key = 'erasures_begun'
