import { hash } from 'node:crypto'
import { z } from 'zod'
import { id_rule, idShape } from './event/envelope.ts'

const id = z.string().regex(idShape)

/**
 * One record of `erasures.requested.v1`: a request to erase all data of an install that was received up to
 * `requested_at_ms`. A record that comes twice, or is read again, is known by that time and changes nothing
 * (docs/decisions/erasure.md#a-request-is-known-by-its-time).
 */
export const ErasureRequest = z.object({
  v: z.literal(1).describe('Version of this shape. Another one comes with another topic.'),
  company_id: id,
  app_id: id,
  install_uuid: z.string().regex(idShape, id_rule).describe('Compared exactly, as in events.'),
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
 * Name of the counter with the time of a durable request, Unix epoch ms. While that time is later than the counter
 * `erasures_begun_key`, the install is queued for erasure (docs/decisions/erasure.md#a-flag-says-that-an-erasure-is-queued). An erasure
 * removes the counter. Its name holds a hash in place of the id, because the append-only file of Redis keeps names until Redis rewrites it
 * (docs/decisions/erasure.md#a-flag-says-that-an-erasure-is-queued).
 */
export const queuedErasureKey = (app_id: string, install_uuid: string): string =>
  `erasure:${app_id}:${hash('sha256', `${app_id}/${install_uuid}`, 'base64url')}`

/**
 * Name of the counter with the latest time, Unix epoch ms, up to which an erasure that has begun may cover requests. The eraser
 * raises it before it fixes the mark of an erasure.
 */
export const erasures_begun_key = 'erasures_begun'
