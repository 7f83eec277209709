import { z } from 'zod'

/** Apple's two systems that report installs: SKAdNetwork and AdAttributionKit. */
export const postbackProtocols = ['skan', 'aak'] as const
export type PostbackProtocol = (typeof postbackProtocols)[number]

/** Folder at the root of the audit store that holds the postbacks of all apps (docs/rules.md#audit-keys). */
export const postback_audit_folder = 'postbacks/'

/**
 * A record of `postbacks.received.v1`: a postback as it came, read but not verified (docs/rules.md#postbacks). Its key is
 * the hash of the protocol and the id that the postback claims, or of the body where it claims none. The partition follows
 * from the key, so that every copy and every forgery of one postback is in one partition.
 */
export const PostbackReceived = z.object({
  v: z.literal(1).describe('Version of this shape.'),
  protocol: z.enum(postbackProtocols),
  content_type: z.string().describe('As the sender named it, cut to 512 characters; empty without one.'),
  body: z
    .string()
    .describe('The body to the letter: a JSON object, or for AAK also a bare JWS. No signature is checked yet.'),
  received_at_ms: z.number().int().describe('When the gateway received it, Unix epoch ms.'),
  audit_key: z.string().describe('The audit object that holds the same postback.'),
})
export type PostbackReceived = z.infer<typeof PostbackReceived>
