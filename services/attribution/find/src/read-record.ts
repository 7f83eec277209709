import type { LogRecord } from '@tributary/broker/broker'
import { factsHeader, isFact } from '@tributary/contracts/attribution/found'
import { decodeEnvelopeOrNull } from '@tributary/contracts/decode-envelope'
import type { Envelope } from '@tributary/contracts/envelope'
import type { EnvelopeHead } from '@tributary/domain/attribute/install-facts'
import { isMark } from '@tributary/service-kit/consumer/hand-over'

/** An event that attribution reads. */
export interface FactEvent {
  head: EnvelopeHead
  event: Envelope['events'][number]
  /** Index of the event in its record. */
  index: number
}

/** The events of a record that attribution reads, and whether it could be read at all. */
export interface ReadRecord {
  events: readonly FactEvent[]
  /** JSON text that these came from, at most. */
  bytes: number
  /** Event-writer puts the record into the dead letters; a retry of that letter brings it here again. */
  undecodable: boolean
}

const nothing: ReadRecord = { events: [], bytes: 0, undecodable: false }

/** Whether a record may hold a fact. Whatever does not say that it holds none is read. */
export const mayHoldFacts = (headers: Readonly<Record<string, string>>): boolean => headers[factsHeader] !== '0'

/** The events of a record that attribution reads; the others are gone from memory when this returns. */
export function readRecord(record: Pick<LogRecord, 'headers' | 'value'>): ReadRecord {
  if (isMark(record)) return nothing
  const { value } = record
  const envelope = decodeEnvelopeOrNull(value)
  if (envelope === null) return { ...nothing, undecodable: true }
  const { v: _version, events: received, ...head } = envelope
  const events = received.flatMap((event, index) => (isFact(event.event_name) ? [{ head, event, index }] : []))
  return events.length === 0 ? nothing : { events, bytes: value.length, undecodable: false }
}
