import { z } from 'zod'
import { envelopeFieldNames, envelopeFields } from './event-fields.ts'

export const platforms = ['ios', 'android'] as const
export type Platform = (typeof platforms)[number]
/** Who sent an event: `store` is what a store said itself, by a notification or a receipt. */
export const sources = ['sdk', 's2s', 'bulk', 'store'] as const

/** The sources whose requests are audited as the events that they sent. */
export type RequestSource = Exclude<(typeof sources)[number], 'store'>

/** The shape of ids that we make, and of `install_uuid`. Ids become part of paths and statements, so any other text is refused. */
export const idShape = /^[A-Za-z0-9_-]{1,64}$/
export const id_rule = 'It must be 1 to 64 letters, digits, - or _.'

const schemas = {
  id: z.string().regex(idShape),
  platform: z.enum(platforms),
  source: z.enum(sources),
  text: z.string(),
  later_text: z.string().optional(),
  time: z.number().int(),
  client_time: z.number().int().optional(),
}

type Fields = { [Name in keyof typeof envelopeFields]: (typeof schemas)[(typeof envelopeFields)[Name]['kind']] }
const fields = Object.fromEntries(
  envelopeFieldNames.map((name) => {
    const field: { kind: keyof typeof schemas; description?: string } = envelopeFields[name]
    const schema = schemas[field.kind]
    return [name, field.description === undefined ? schema : schema.describe(field.description)]
  }),
) as Fields

/**
 * A record of `events.accepted.v1` in its first version: the events of one request that share an install, exactly as the
 * client sent them (only a missing S2S `event_id` is filled in). The gateway checks them; the writer makes a row of each.
 * The descriptions stand in docs/schemas, for readers in other languages.
 */
export const Envelope = z.object({
  v: z.literal(1).describe('Version of this shape.'),
  ...fields,
  states_attribution: z
    .literal(true)
    .optional()
    .describe('The key may state attributions: the `attribution` of an `app_install` in here decides.'),
  events: z.array(z.record(z.string(), z.unknown())).min(1).describe('In the order of the request.'),
})
export type Envelope = z.infer<typeof Envelope>

/** Key of a record of `events.accepted.v1`. */
export const recordKey = (app_id: string, install_uuid: string): string => `${app_id}/${install_uuid}`

/** The app of such a key; null for a text of another shape. Gateways alone write the topic, so the key is trusted. */
export const appOfKey = (key: string | null): string | null => /^([\w-]{1,64})\//.exec(key ?? '')?.[1] ?? null

/** Version 2 of an envelope: the same content, with the events inside the body as the client sent it. */
export const BodyEnvelope = Envelope.omit({ events: true }).extend({
  v: z.literal(2).describe('Version of this shape.'),
  body: z.looseObject({ events: Envelope.shape.events }).describe('The body of the request.'),
})

/** The fields of an envelope that the events of a request share, without the audit key, which is known last. */
export type EnvelopeFacts = Omit<Envelope, 'install_uuid' | 'events' | 'audit_key'>
