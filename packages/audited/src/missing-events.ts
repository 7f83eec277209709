import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Envelope } from '@tributary/contracts/envelope'
import { isErased } from '@tributary/domain/erasure/is-erased'
import type { Tombstones } from '@tributary/domain/erasure/tombstones'
import { duplicateDays } from '@tributary/domain/event-key'
import { toEventRow } from '@tributary/domain/event-row'
import type { Pause } from '@tributary/service-kit/service/pauses'
import { type EventKeyLookup, findEventKeys } from '@tributary/tables/events/event-keys'
import type { Reading } from './reading.ts'

/** An envelope as the gateway made it. */
export interface ReadEnvelope {
  envelope: Envelope
  /** The events whose `event_id` the gateway minted. */
  minted?: ReadonlySet<string>
}

export interface EventKey {
  app_id: string
  event_key: string
  key_day: string
}

/** An envelope that holds only events that ClickHouse lacks, and the key of each. */
export interface Missing {
  envelope: Envelope
  keys: EventKey[]
}

type Event = Envelope['events'][number]

/** Decides nothing here: a key does not depend on where in the log an event lies. */
const nowhere = { topic: '', partition: 0, offset: 0 }

interface Known {
  clickhouse: Pick<Clickhouse, 'query'>
  /** Erased events are not missing: in the log they would stay for another retention. */
  erased: Tombstones
  reading: Reading
  pause: Pause
  /** Which stored keys count; all by default. */
  counts?: (key: EventKey) => boolean
}

/**
 * What ClickHouse lacks, in the order of `read`. An event is there when its key is stored on its day or a neighbour of
 * it: the rule by which the writer drops duplicates. The same key several times in `read` is left to the writer.
 */
export async function findMissing(
  { clickhouse, erased, reading, pause, counts = () => true }: Known,
  read: readonly ReadEnvelope[],
): Promise<Missing[]> {
  const keyed: (ReadEnvelope & { events: KeyedEvent[] })[] = []
  for (const one of read) {
    const events: KeyedEvent[] = []
    for (const event of withoutErased(one.envelope, erased, reading)) {
      await pause()
      events.push(...keyOf(one, event, reading))
    }
    keyed.push({ ...one, events })
  }
  const asks = keyed.flatMap(({ events }) => events.map(({ ask }) => ask))
  if (asks.length === 0) return []
  const found = await findEventKeys(clickhouse, asks)
  const stored = new Set(found.filter(counts).map(identityOf))
  const lacking: Missing[] = []
  for (const { envelope, minted, events } of keyed) {
    await pause()
    const missing = events.filter(
      ({ key, ask }) => !ask.key_days.some((day) => stored.has(identityOf({ ...key, key_day: day }))),
    )
    if (missing.length === 0) continue
    reading.doubt('minted_id', missing.filter(({ event }) => minted?.has(event.event_id as string)).length)
    const lacked = { ...envelope, events: missing.map(({ event }) => event) }
    lacking.push({ envelope: lacked, keys: missing.map(({ key }) => key) })
  }
  return lacking
}

/** The events of an envelope that no erasure covers. A locked app keeps all of them: the writer sets its records aside. */
function withoutErased(envelope: Envelope, erased: Tombstones, reading: Reading): Event[] {
  const { app_id, install_uuid, received_at_ms, sent_at_ms, events } = envelope
  reading.replayed += events.length
  const mark_ms = erased.isLocked(app_id) ? null : erased.markOf(app_id, install_uuid)
  return events.filter(({ event_ts_ms }) => !isErased({ received_at_ms, sent_at_ms, event_ts_ms }, mark_ms))
}

interface KeyedEvent {
  event: Event
  key: EventKey
  ask: EventKeyLookup
}

function keyOf({ envelope }: ReadEnvelope, event: Event, reading: Reading): KeyedEvent[] {
  try {
    const { app_id, event_key, key_day } = toEventRow(envelope, event, nowhere)
    const ask = { app_id, event_key, key_days: duplicateDays(key_day) }
    return [{ event, key: { app_id, event_key, key_day }, ask }]
  } catch {
    reading.doubt('refused_now') // no row can be made of it: the writer would put it into the dead-letter topic
    return []
  }
}

/** Names a stored key. */
export const identityOf = ({ app_id, event_key, key_day }: EventKey): string => `${app_id}/${key_day}/${event_key}`
