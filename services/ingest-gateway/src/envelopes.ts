import type { OutgoingRecord } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { Envelope } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import type { AcceptedEvent } from '@tributary/domain/accept-event'

/** All of an envelope that its events share. */
export type EnvelopeFacts = Omit<Envelope, 'install_uuid' | 'events'>

/**
 * The records of one request: one per install, split where it would exceed `limits.record_bytes_max`. `raw_events` is the
 * client's own text of exactly these events: with a single install it is taken as it is, which spares a JSON.stringify.
 */
export function toRecords(
  facts: EnvelopeFacts,
  accepted: readonly AcceptedEvent[],
  raw_events: Buffer | null,
  partitions: number,
): OutgoingRecord[] {
  const install_uuid = singleInstall(accepted)
  if (raw_events !== null && install_uuid !== null) {
    const record = toRecord(facts, install_uuid, raw_events, partitions)
    if (record.value.length <= limits.record_bytes_max) return [record]
  }
  const records: OutgoingRecord[] = []
  for (const [install, events] of Map.groupBy(accepted, (event) => event.install_uuid)) {
    for (const text of joinBounded(events)) records.push(toRecord(facts, install, Buffer.from(text), partitions))
  }
  return records
}

function singleInstall(accepted: readonly AcceptedEvent[]): string | null {
  const first = accepted[0]?.install_uuid ?? null
  return accepted.every((event) => event.install_uuid === first) ? first : null
}

/** Room for the members of an envelope other than its events. */
const envelope_head_bytes_max = 8 * 1024

/** JSON arrays of the events in order, each below the limit of a record (one event always is, see `limits`). */
function joinBounded(events: readonly AcceptedEvent[]): string[] {
  const arrays: string[] = []
  let items: string[] = []
  let bytes = 0
  for (const event of events) {
    const text = JSON.stringify(event)
    const size = Buffer.byteLength(text) + 1
    if (items.length > 0 && bytes + size > limits.record_bytes_max - envelope_head_bytes_max) {
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
