import type { OutgoingRecord } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { Envelope } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import type { AcceptedEvent } from '@tributary/domain/accept-event'

/** All of an envelope that its events share, but for the audit key, which is known last. */
export type EnvelopeFacts = Omit<Envelope, 'install_uuid' | 'events' | 'audit_key'>

/** A record that lacks its audit key; see `closeRecords`. */
export interface OpenRecord {
  record: OutgoingRecord
  /** Bytes of its value so far; behind them is room for the audit key. */
  bytes: number
}

/** Room for the members of an envelope other than its events. */
const envelope_head_bytes_max = 8 * 1024
const audit_key_bytes_max = 1024
/** Of the events of one record. */
export const events_bytes_max = limits.record_bytes_max - envelope_head_bytes_max

/**
 * The accepted events of one request as envelopes, one per install, split where a record would exceed
 * `limits.record_bytes_max`. `raw_events` is the client's own text of exactly these events: with a single install it is
 * taken as it is, which spares a JSON.stringify. Nothing of what is given is kept: it may be written over.
 */
export function openRecords(
  facts: EnvelopeFacts,
  accepted: readonly AcceptedEvent[],
  raw_events: Buffer | null,
  partitions: number,
): OpenRecord[] {
  const install_uuid = singleInstall(accepted)
  if (raw_events !== null && install_uuid !== null && raw_events.length <= events_bytes_max) {
    return [openRecord(facts, install_uuid, raw_events, partitions)]
  }
  return [...Map.groupBy(accepted, (event) => event.install_uuid)].flatMap(([install, events]) =>
    joinBounded(events).map((text) => openRecord(facts, install, Buffer.from(text), partitions)),
  )
}

/** Completes what `openRecords` began, in place. */
export const closeRecords = (open: readonly OpenRecord[], audit_key: string): OutgoingRecord[] =>
  open.map(({ record, bytes }) => {
    const end = `,"audit_key":${JSON.stringify(audit_key)}}`
    const whole = bytes + Buffer.byteLength(end)
    if (whole > record.value.length) throw new RangeError('an audit key is longer than an envelope has room for')
    record.value.write(end, bytes)
    return { ...record, value: record.value.subarray(0, whole) }
  })

function singleInstall(accepted: readonly AcceptedEvent[]): string | null {
  const first = accepted[0]?.install_uuid ?? null
  return accepted.every((event) => event.install_uuid === first) ? first : null
}

/** JSON arrays of the events in order, each below the limit of a record (one event always is, see `limits`). */
function joinBounded(events: readonly AcceptedEvent[]): string[] {
  const arrays: string[] = []
  let items: string[] = []
  let bytes = 0
  for (const event of events) {
    const text = JSON.stringify(event)
    const size = Buffer.byteLength(text) + 1
    if (items.length > 0 && bytes + size > events_bytes_max) {
      arrays.push(`[${items.join()}]`)
      items = []
      bytes = 0
    }
    items.push(text)
    bytes += size
  }
  arrays.push(`[${items.join()}]`)
  return arrays
}

/** A record of events that are one install's and fit into it. */
export function openRecord(facts: EnvelopeFacts, install_uuid: string, events: Buffer, partitions: number): OpenRecord {
  const head = `${JSON.stringify({ ...facts, install_uuid }).slice(0, -1)},"events":`
  const value = Buffer.allocUnsafe(Buffer.byteLength(head) + events.length + audit_key_bytes_max)
  const at = value.write(head)
  const bytes = at + events.copy(value, at)
  const partition = installPartition(facts.app_id, install_uuid, partitions)
  return {
    record: { topic: topics.eventsAccepted.name, partition, key: `${facts.app_id}/${install_uuid}`, value },
    bytes,
  }
}
