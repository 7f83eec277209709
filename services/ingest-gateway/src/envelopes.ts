import type { OutgoingRecord } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { Envelope } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import type { AcceptedEvent } from '@tributary/domain/accept-event'

/** All of an envelope that its events share. */
export type EnvelopeFacts = Omit<Envelope, 'install_uuid' | 'events'>

/** Events of one install as the JSON array that an envelope holds. */
export interface PackedEvents {
  install_uuid: string
  events: Buffer
}

/** Room for the members of an envelope other than its events. */
const envelope_head_bytes_max = 8 * 1024
const packed_bytes_max = limits.record_bytes_max - envelope_head_bytes_max

/**
 * The accepted events of one request as text, one pack per install, split where a record would exceed
 * `limits.record_bytes_max`. `raw_events` is the client's own text of exactly these events: with a single install it is
 * taken as it is, which spares a JSON.stringify. Nothing of the parsed events is kept.
 */
export function packEvents(accepted: readonly AcceptedEvent[], raw_events: Buffer | null): PackedEvents[] {
  const install_uuid = singleInstall(accepted)
  if (raw_events !== null && install_uuid !== null && raw_events.length <= packed_bytes_max) {
    return [{ install_uuid, events: raw_events }]
  }
  return [...Map.groupBy(accepted, (event) => event.install_uuid)].flatMap(([install, events]) =>
    joinBounded(events).map((text) => ({ install_uuid: install, events: Buffer.from(text) })),
  )
}

/** The records of one request. */
export function toRecords(facts: EnvelopeFacts, packs: readonly PackedEvents[], partitions: number): OutgoingRecord[] {
  return packs.map(({ install_uuid, events }) => toRecord(facts, install_uuid, events, partitions))
}

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
    if (items.length > 0 && bytes + size > packed_bytes_max) {
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

const closing = Buffer.from('}')

function toRecord(facts: EnvelopeFacts, install_uuid: string, events: Buffer, partitions: number): OutgoingRecord {
  const head = JSON.stringify({ ...facts, install_uuid })
  const value = Buffer.concat([Buffer.from(`${head.slice(0, -1)},"events":`), events, closing])
  const partition = installPartition(facts.app_id, install_uuid, partitions)
  return { topic: topics.eventsAccepted.name, partition, key: `${facts.app_id}/${install_uuid}`, value }
}
