import { type Envelope, idShape, platforms, sources } from './envelope.ts'
import { envelopeFieldNames, envelopeFields } from './event-fields.ts'

const isOneOf = (values: readonly unknown[]) => (value: unknown) => values.includes(value)

const checks: Record<(typeof envelopeFields)[keyof typeof envelopeFields]['kind'], (value: unknown) => boolean> = {
  id: (value) => typeof value === 'string' && idShape.test(value),
  platform: isOneOf(platforms),
  source: isOneOf(sources),
  text: (value) => typeof value === 'string',
  later_text: (value) => value === undefined || typeof value === 'string',
  time: Number.isSafeInteger,
  client_time: (value) => value === undefined || Number.isSafeInteger(value),
}
const fields = envelopeFieldNames.map((name) => ({ name, check: checks[envelopeFields[name].kind] }))

/**
 * The envelope in a record. Written by hand because it runs for every record: a test holds it equal to the zod schema
 * beside it. Throws for anything else: such a record can never be read.
 */
export function decodeEnvelope(value: Buffer): Envelope {
  const logged = JSON.parse(value.toString('utf8'))
  if (!isObject(logged)) throw new Error('envelope is no object')
  const envelope = logged.v === 2 ? withEvents(logged) : logged
  if (envelope.v !== 1) throw new Error('envelope of an unknown version')
  for (const { name, check } of fields) if (!check(envelope[name])) throw new Error(`${name} of an envelope is wrong`)
  const { events, states_attribution = true } = envelope
  if (states_attribution !== true) throw new Error('states_attribution of an envelope is wrong')
  if (!Array.isArray(events) || events.length === 0 || !events.every(isObject)) throw new Error('events are no list')
  return envelope as Envelope
}

/** The same; null for what can never be read, of which event-writer makes a dead letter. */
export function decodeEnvelopeOrNull(value: Buffer): Envelope | null {
  try {
    return decodeEnvelope(value)
  } catch {
    return null
  }
}

/** An envelope that holds a client's body, as one that holds the events of it. */
function withEvents({ body, ...rest }: Record<string, unknown>): Record<string, unknown> {
  if (!isObject(body)) throw new Error('body is no object')
  return { ...rest, v: 1, events: body.events }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
