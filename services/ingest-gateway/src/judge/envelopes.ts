import type { OutgoingRecord, PackedValue } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import type { AcceptedEvent } from '@tributary/domain/accept/accept-event'
import { joinBounded } from '@tributary/service-kit/http/join-bounded'

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
    joinBounded(events, events_bytes_max).map((items) =>
      openRecord(facts, install, Buffer.from(`[${items}]`), partitions),
    ),
  )
}

/** Completes what `openRecords` began, in place. */
export const closeRecords = (open: readonly OpenRecord[], audit_key: string): OutgoingRecord[] =>
  open.map(({ record, bytes }) => {
    const end = Buffer.from(`,"audit_key":${JSON.stringify(audit_key)}}`)
    const { topic, partition, key, value } = record
    if (!Buffer.isBuffer(value)) return { topic, partition, key, value: { ...value, tail: end } }
    const whole = bytes + end.length
    if (whole > value.length) throw new RangeError('an audit key is longer than an envelope has room for')
    end.copy(value, bytes)
    return { topic, partition, key, value: value.subarray(0, whole) }
  })

function singleInstall(accepted: readonly AcceptedEvent[]): string | null {
  const first = accepted[0]?.install_uuid ?? null
  return accepted.every((event) => event.install_uuid === first) ? first : null
}

/** A record of events that are one install's and fit into it. */
export function openRecord(facts: EnvelopeFacts, install_uuid: string, events: Buffer, partitions: number): OpenRecord {
  const head = headOf(facts, install_uuid)
  const value = Buffer.allocUnsafe(Buffer.byteLength(head) + events.length + audit_key_bytes_max)
  const at = value.write(head)
  const bytes = at + events.copy(value, at)
  return { record: { ...placeOf(facts, install_uuid, partitions), value }, bytes }
}

/** `openRecord` for a log that packs: the events lie in the client's gzip file from byte `from` to `to`. */
export function openPackedRecord(
  facts: EnvelopeFacts,
  install_uuid: string,
  events: Pick<PackedValue, 'gzip' | 'from' | 'to'>,
  partitions: number,
): OpenRecord {
  const head = Buffer.from(headOf(facts, install_uuid))
  const value = { head, ...events, tail: head.subarray(0, 0) }
  return { record: { ...placeOf(facts, install_uuid, partitions), value }, bytes: 0 }
}

const headOf = (facts: EnvelopeFacts, install_uuid: string): string =>
  `${JSON.stringify({ ...facts, install_uuid }).slice(0, -1)},"events":`

const placeOf = ({ app_id }: EnvelopeFacts, install_uuid: string, partitions: number) => ({
  topic: topics.eventsAccepted.name,
  partition: installPartition(app_id, install_uuid, partitions),
  key: `${app_id}/${install_uuid}`,
})
