import type { OutgoingRecord, PackedValue, WholeRecord } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import { factsHeader, isFact } from '@tributary/contracts/attribution/found'
import { type EnvelopeFacts, recordKey } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { receiptOf, receiptsHeader } from '@tributary/contracts/receipt/receipt'
import { topics } from '@tributary/contracts/topics'
import { joinBounded } from './join-bounded.ts'
import { byInstallAndCountry } from './shared-envelopes.ts'

/** A client's body as it came: gzip of an object whose member `events` is exactly the accepted events. */
export type GzipBody = Pick<PackedValue, 'gzip' | 'inflated_bytes'>

/** An envelope that lacks its audit key, and where it goes; see `closeRecords`. It can be handed to another thread. */
export interface OpenRecord<Events = string | Buffer | GzipBody> extends Pick<WholeRecord, 'topic' | 'partition'> {
  key: string
  headers: HoldsHeaders
  head: string
  /** JSON text of the array of events, or the body that holds it. */
  events: Events
}

/** Whether attribution and the judge of receipts have to read some events. */
export interface Holds {
  facts: boolean
  receipts: boolean
}

/** Says it of a record (docs/consumers.md#reading-the-topics-from-other-languages). */
type HoldsHeaders = Readonly<Record<typeof factsHeader | typeof receiptsHeader, '0' | '1'>>

/** Room for the members of an envelope other than its events. */
const envelope_head_bytes_max = 8 * 1024
/** Bytes of the events of one record. */
export const events_bytes_max = limits.record_bytes_max - envelope_head_bytes_max

/** An event as far as its envelope depends on it. */
interface SentEvent {
  install_uuid: string
  event_name?: unknown
  props?: unknown
}

/**
 * The accepted events of a request as envelopes, one per install (and country, where `countryOf` says one of each event), split
 * where a record would exceed `limits.record_bytes_max`. A backend sends for many installs at once, so the common part of
 * their envelopes is written once.
 */
export function openRecords<Event extends SentEvent>(
  facts: EnvelopeFacts,
  accepted: readonly Event[],
  partitions: number,
  countryOf?: (event: Event) => string,
): OpenRecord<string>[] {
  const shared = textOf(facts)
  const envelopes = byInstallAndCountry(accepted, countryOf ?? (() => ''))
  return envelopes.flatMap(({ install_uuid, country, events }) => {
    const target = partitionKeyOf(facts, install_uuid, partitions)
    const own_country = countryOf === undefined ? '' : `,"country":${JSON.stringify(country)}`
    const head = headOf(shared + own_country, install_uuid, 'events')
    let next = 0
    return joinBounded(events, events_bytes_max).map(({ items, count }) => {
      const own = events.slice(next, next + count)
      next += count
      return { ...target, headers: headersOf(holdsOf(own), facts), head, events: `[${items}]` }
    })
  })
}

/**
 * The events of one install as the client wrote them, which saves a JSON.stringify. They are the whole body in gzip, or
 * the bytes of their array, at most `events_bytes_max`. These bytes are copied, since they may be overwritten.
 * `holds` is what `holdsOf` says of the events.
 */
export function openRecord(
  facts: EnvelopeFacts,
  install_uuid: string,
  { sent, holds }: { sent: Buffer | GzipBody; holds: Holds },
  partitions: number,
): OpenRecord {
  const target = { ...partitionKeyOf(facts, install_uuid, partitions), headers: headersOf(holds, facts) }
  if (Buffer.isBuffer(sent)) {
    return { ...target, head: headOf(textOf(facts), install_uuid, 'events'), events: Buffer.from(sent) }
  }
  return { ...target, head: headOf(textOf({ ...facts, v: 2 }), install_uuid, 'body'), events: sent }
}

export const holdsOf = (events: readonly Omit<SentEvent, 'install_uuid'>[]): Holds => ({
  facts: events.some(({ event_name }) => isFact(event_name)),
  receipts: events.some((event) => receiptOf(event) !== null),
})

/** All that there are: records share them. */
const allHeaders = (['0', '1'] as const).map((facts) =>
  (['0', '1'] as const).map((receipts): HoldsHeaders => ({ [factsHeader]: facts, [receiptsHeader]: receipts })),
)
const headersOf = ({ facts, receipts }: Holds, { source }: EnvelopeFacts): HoldsHeaders =>
  allHeaders[Number(facts)]![Number(receipts || source === 'store')]!

/** Completes what `openRecords` and `openRecord` began. */
export function closeRecords(open: readonly OpenRecord<string>[], audit_key: string): WholeRecord[]
export function closeRecords(open: readonly OpenRecord[], audit_key: string): OutgoingRecord[]
export function closeRecords(open: readonly OpenRecord[], audit_key: string): OutgoingRecord[] {
  const tail = `,"audit_key":${JSON.stringify(audit_key)}}`
  return open.map(({ topic, partition, key, headers, head, events }) => ({
    ...{ topic, partition, key, headers },
    value: closeValue(head, events, tail),
  }))
}

function closeValue(head: string, events: OpenRecord['events'], tail: string): Buffer | PackedValue {
  if (typeof events === 'string') return Buffer.from(head + events + tail)
  if (Buffer.isBuffer(events)) return Buffer.concat([Buffer.from(head), events, Buffer.from(tail)])
  return { head: Buffer.from(head), ...events, tail: Buffer.from(tail) }
}

const textOf = (facts: object): string => JSON.stringify(facts).slice(0, -1)

/** The characters of an install need no escape in JSON. */
const headOf = (shared: string, install_uuid: string, member: 'events' | 'body'): string =>
  `${shared},"install_uuid":"${install_uuid}","${member}":`

const partitionKeyOf = ({ app_id }: EnvelopeFacts, install_uuid: string, partitions: number) => ({
  topic: topics.eventsAccepted.name,
  partition: installPartition(app_id, install_uuid, partitions),
  key: recordKey(app_id, install_uuid),
})
