import { z } from 'zod'

export const platforms = ['ios', 'android'] as const
export type Platform = (typeof platforms)[number]

/** Ids that we make ourselves; they become part of paths and statements, so nothing else passes. */
const id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)

/**
 * One record of `events.accepted.v1`: the events of one request that share an install, exactly as the client sent
 * them (only a missing S2S `event_id` is filled in). Checked by the gateway; the writer turns each into a row.
 */
export const Envelope = z.object({
  v: z.literal(1),
  company_id: id,
  app_id: id,
  platform: z.enum(platforms),
  source: z.enum(['sdk', 's2s', 'bulk']),
  install_uuid: z.string(),
  received_at_ms: z.number().int(),
  sent_at_ms: z.number().int().optional(),
  ip: z.string(),
  user_agent: z.string(),
  /** `X-Service-Sdk`, empty when absent. */
  sdk: z.string(),
  /** `X-Service-Platform`, empty when absent. Stored, never trusted. */
  sdk_platform: z.string(),
  audit_key: z.string(),
  events: z.array(z.record(z.string(), z.unknown())).min(1),
})
export type Envelope = z.infer<typeof Envelope>
