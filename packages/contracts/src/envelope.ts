import { z } from 'zod'

export const platforms = ['ios', 'android'] as const
export type Platform = (typeof platforms)[number]

/** Ids that we make ourselves; they become part of paths and statements, so nothing else passes. */
const id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)

/**
 * A record of `events.accepted.v1` in its first version: the events of one request that share an install, exactly as the client sent
 * them (only a missing S2S `event_id` is filled in). Checked by the gateway; the writer turns each into a row.
 * The descriptions stand in docs/schemas, for readers in other languages.
 */
export const Envelope = z.object({
  v: z.literal(1).describe('Version of this shape.'),
  company_id: id,
  app_id: id,
  platform: z.enum(platforms).describe('Of the app, whatever the events say.'),
  source: z.enum(['sdk', 's2s', 'bulk']).describe('/event, /s2s/event or /s2s/events/bulk.'),
  install_uuid: z.string().describe('The install of all events in here.'),
  received_at_ms: z.number().int().describe("Unix epoch ms, the gateway's clock."),
  sent_at_ms: z.number().int().optional().describe("Unix epoch ms, the client's clock; never trusted."),
  ip: z.string().describe('Address of the client.'),
  user_agent: z.string().describe('Empty when absent.'),
  sdk: z.string().describe('X-Service-Sdk, empty when absent.'),
  sdk_platform: z.string().describe('X-Service-Platform, empty when absent. Stored, never trusted.'),
  audit_key: z.string().describe('The audit object that holds the request.'),
  events: z.array(z.record(z.string(), z.unknown())).min(1).describe('In the order of the request.'),
})
export type Envelope = z.infer<typeof Envelope>

/** Version 2 of an envelope, which says the same: the events stand in the body as the client sent it. */
export const BodyEnvelope = Envelope.omit({ events: true }).extend({
  v: z.literal(2).describe('Version of this shape.'),
  body: z.looseObject({ events: Envelope.shape.events }).describe('The body of the request.'),
})

/** All of an envelope that the events of a request share, but for the audit key, which is known last. */
export type EnvelopeFacts = Omit<Envelope, 'install_uuid' | 'events' | 'audit_key'>
