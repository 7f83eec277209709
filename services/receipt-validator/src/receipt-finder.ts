import type { Broker } from '@tributary/broker/broker'
import { waitUntilRead } from '@tributary/broker/wait-until-read'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals, unsigned } from '@tributary/clickhouse/literals'
import { consumers } from '@tributary/contracts/consumers'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import type { Envelope } from '@tributary/contracts/envelope'
import { receiptOf, receiptsHeader } from '@tributary/contracts/receipt/receipt'
import { datedAt, isErased } from '@tributary/domain/erasure/is-erased'
import type { Tombstones } from '@tributary/domain/erasure/tombstones'
import { toEventColumns, UnwritableEventError } from '@tributary/domain/event-row'
import { storeToAsk } from '@tributary/domain/receipt/read-receipt'
import type { ErasedRecords } from '@tributary/erasure/erased-records'
import { type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import { addDue, type DueReceipt } from '@tributary/tables/receipts/due-receipts'
import { type EventPlace, inParts } from '@tributary/tables/receipts/event-places'
import type { Pool } from 'pg'

export interface FinderDeps {
  broker: Pick<Broker, 'groupOffsets'>
  clickhouse: Pick<Clickhouse, 'query'>
  postgres: Pick<Pool, 'query'>
  /** Tombstones; without them nothing counts as erased. */
  erased?: ErasedRecords
}

/** Bounds of a batch. Records without receipts are not held. */
const batch_events_max = 5000
const batch_bytes_max = 8 * 1024 * 1024

/** Null: no event of the record can be judged. */
type Decoded = { envelope: Envelope | null; bytes: number }

/** Adds the receipts of events to what is due, once event-writer has written the events: duplicates are not judged. */
export function receiptFinder({ broker, clickhouse, postgres, erased }: FinderDeps): ConsumerDefinition<Decoded> {
  return defineConsumer<Decoded>({
    ...consumers.receiptValidator,
    ...(erased && { tombstones: erased }),
    appOf: ({ envelope }) => envelope?.app_id ?? null,
    // A record that does not say that it has none is looked through.
    needsValue: (headers) => headers[receiptsHeader] !== '0',
    bounds: {
      ...{ rows_max: batch_events_max, bytes_max: batch_bytes_max },
      measure: ({ envelope, bytes }) => ({ rows: envelope?.events.length ?? 1, bytes }),
    },
    decode: ({ value }) =>
      mayHaveReceipt(value) ? { envelope: decodeEnvelope(value), bytes: value.length } : { envelope: null, bytes: 0 },
    async handle({ records, partition, tombstones, signal, written }) {
      const found = records.flatMap(({ record, value: { envelope } }) =>
        envelope === null ? [] : receiptsIn(envelope, { partition, offset: record.offset }, tombstones),
      )
      if (found.length === 0) return
      await waitUntilRead(consumers.eventWriter, { broker, signal })
      let added = 0
      for (const [app_id, of] of Map.groupBy(found, (one) => one.app_id)) {
        for (const some of inParts(of)) {
          signal.throwIfAborted()
          const written_as = await findTopics(clickhouse, app_id, some)
          const due = some.flatMap((one) => {
            const topic = written_as.get(nameOf(one))
            return topic === undefined ? [] : { ...one, topic }
          })
          added += await addDue(postgres, due)
        }
      }
      written(added)
    },
  })
}

/** An event on the log. The tables have its topic with the identity that the log has for event-writer, not for this group. */
type FoundReceipt = Omit<DueReceipt, 'topic'>

const nameOf = ({ day, event_key, partition, offset }: Omit<EventPlace, 'topic'>): string =>
  `${day}/${event_key}/${partition}/${offset}`

/** The topics of those events that are written, in the newest log, by `nameOf`. */
async function findTopics(
  clickhouse: FinderDeps['clickhouse'],
  app_id: string,
  events: readonly FoundReceipt[],
): Promise<Map<string, string>> {
  const tuples = events.map(
    ({ day, event_key, partition, offset }) =>
      `(${textLiteral(day)}, ${unsigned(event_key)}, ${Number(partition)}, ${Number(offset)})`,
  )
  const rows = await clickhouse.query<FoundReceipt & { topic: string }>(
    `SELECT toString(t.day) AS day, toString(t.event_key) AS event_key, partition, offset, max(topic) AS topic FROM events_raw_v1 AS t
     WHERE t.app_id = ${textLiteral(app_id)} AND t.day IN (${textLiterals(events.map(({ day }) => day))})
       AND t.install_uuid IN (${textLiterals(events.map(({ install_uuid }) => install_uuid))})
       AND (t.day, t.event_key, t.partition, t.offset) IN (${tuples.join(', ')})
     GROUP BY t.day, t.event_key, partition, offset`,
  )
  return new Map(rows.map((row) => [nameOf(row), row.topic]))
}

/** Parsing each record would cost more than looking through its bytes. An escape may spell anything. */
const mayHaveReceipt = (value: Buffer): boolean =>
  value.includes('receipt') || value.includes('"source":"store"') || value.includes('\\u')

interface Position {
  partition: number
  offset: number
}

function receiptsIn(envelope: Envelope, position: Position, tombstones: Tombstones): FoundReceipt[] {
  const { app_id, source, received_at_ms, sent_at_ms } = envelope
  const install_uuid = envelope.install_uuid.toWellFormed()
  const mark_ms = tombstones.markOf(app_id, install_uuid)
  // An escape that spells something else led here.
  if (source !== 'store' && envelope.events.every((event) => receiptOf(event) === null)) return []
  const found: FoundReceipt[] = []
  const names = new Set<string>()
  for (const event of envelope.events) {
    const times = { received_at_ms, event_ts_ms: event.event_ts_ms, sent_at_ms }
    if (isErased(times, mark_ms)) continue
    const columns = columnsOf(envelope, event)
    if (columns === null) continue
    const { day, event_key, event_name } = columns.made
    const place = { app_id, install_uuid, day, event_key, ...position }
    // Of two with one key the first was written, be it one without a receipt.
    if (names.has(nameOf(place))) continue
    names.add(nameOf(place))
    const receipt = receiptOf(event)
    if (receipt === null && source !== 'store') continue
    found.push({
      ...{ ...place, event_name },
      ...{ product_id: textOf(event.product_id), transaction_id: textOf(event.transaction_id) },
      receipt: receipt ?? undefined,
      asks: receipt === null ? null : storeToAsk(receipt),
      dated_at_ms: Math.min(received_at_ms, datedAt(times)),
    })
  }
  return found
}

/** Null for an event that event-writer makes a dead letter of. */
function columnsOf(envelope: Envelope, event: Envelope['events'][number]) {
  try {
    return toEventColumns(envelope, event)
  } catch (err) {
    if (err instanceof UnwritableEventError) return null
    throw err
  }
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.toWellFormed().replaceAll('\0', '\ufffd') : null
