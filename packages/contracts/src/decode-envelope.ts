import { type Envelope, platforms } from './envelope.ts'

const ids = ['company_id', 'app_id'] as const
const idShape = /^[A-Za-z0-9_-]{1,64}$/
const texts = ['install_uuid', 'ip', 'user_agent', 'sdk', 'sdk_platform', 'audit_key'] as const
const sources: readonly unknown[] = ['sdk', 's2s', 'bulk'] satisfies Envelope['source'][]

/**
 * The envelope in a record. Written by hand because it runs for every record: a test holds it equal to the zod schema
 * beside it. Throws for anything else: such a record can never be read.
 */
export function decodeEnvelope(value: Buffer): Envelope {
  const logged = JSON.parse(value.toString('utf8'))
  if (!isObject(logged)) throw new Error('envelope is no object')
  const envelope = logged.v === 2 ? withEvents(logged) : logged
  if (envelope.v !== 1) throw new Error('envelope of an unknown version')
  for (const field of ids) {
    const id = envelope[field]
    if (typeof id !== 'string' || !idShape.test(id)) throw new Error(`${field} is no id`)
  }
  for (const field of texts) if (typeof envelope[field] !== 'string') throw new Error(`${field} is no string`)
  if (!(platforms as readonly unknown[]).includes(envelope.platform)) throw new Error('platform is unknown')
  if (!sources.includes(envelope.source)) throw new Error('source is unknown')
  if (!Number.isSafeInteger(envelope.received_at_ms)) throw new Error('received_at_ms is no integer')
  if (envelope.sent_at_ms !== undefined && !Number.isSafeInteger(envelope.sent_at_ms)) {
    throw new Error('sent_at_ms is no integer')
  }
  const { events } = envelope
  if (!Array.isArray(events) || events.length === 0 || !events.every(isObject)) throw new Error('events are no list')
  return envelope as Envelope
}

/** An envelope that holds a client's body, as one that holds the events of it. */
function withEvents({ body, ...rest }: Record<string, unknown>): Record<string, unknown> {
  if (!isObject(body)) throw new Error('body is no object')
  return { ...rest, v: 1, events: body.events }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
