import type { LogRecord } from '@tributary/broker/broker'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import { type RecordColumns, recordColumns } from '@tributary/contracts/rows'
import { datedAt } from '@tributary/domain/erasure/is-erased'
import { claimRank } from '@tributary/domain/event-key'
import { type EventColumns, toEventColumns, toRecordColumns } from '@tributary/domain/event-row'
import type { EventLine } from './event-line.ts'

const newline = 0x0a

/**
 * The events of a record as lines; `source` names the log in their positions. Throws when one of them has no row: a
 * record is written as a whole or not at all. Events become bytes before duplicates are dropped, so lines that wait for
 * ClickHouse are outside the heap, and their objects are freed. The events of a record share a Buffer, because a Buffer
 * for each event would cost more than its content.
 */
export function decodeLines(record: LogRecord, source: string): EventLine[] {
  const envelope = decodeEnvelope(record.value)
  const { partition, offset } = record
  const { app_id, install_uuid, received_at_ms, sent_at_ms } = envelope
  const shared = { app_id, install_uuid, claim_rank: claimRank(envelope.source), received_at_ms }
  const tail = tailOf(toRecordColumns(envelope, { topic: source, partition, offset }))
  let text = ''
  const keys = envelope.events.map((event) => {
    const columns = toEventColumns(envelope, event)
    text += headOf(columns) + tail
    const { day, key_day, event_key, transaction_key, revenue_micros } = columns.made
    const dated_at_ms = datedAt({ event_ts_ms: event.event_ts_ms, sent_at_ms, received_at_ms })
    const has_money = revenue_micros !== null
    return { day, dated_at_ms, key_day, event_key, transaction_key, has_money, end: text.length }
  })
  const bytes = Buffer.from(text)
  const isAscii = bytes.length === text.length
  let next = 0
  return keys.map(({ day, dated_at_ms, key_day, event_key, transaction_key, has_money, end }) => {
    const from = next
    // JSON text holds no newline of its own.
    const to = isAscii ? end - 1 : bytes.indexOf(newline, from)
    next = to + 1
    const revenue_counts = has_money ? 1 : 0
    return { record, day, dated_at_ms, key_day, event_key, transaction_key, ...shared, bytes, from, to, revenue_counts }
  })
}

/**
 * The first columns of a line of JSONCompactEachRow, in the order of `eventRowColumns`. A property test checks this
 * order; looking up columns by their names would cost 3 % of decoding. Columns of JSON text are objects in the line,
 * which ClickHouse keeps byte for byte. Strings would be escaped here only to be unescaped there.
 */
function headOf({ made, texts, jsons }: EventColumns): string {
  const values: unknown[] = [
    made.day,
    made.ts_ms,
    made.correction_ms,
    made.event_name,
    made.event_id,
    made.event_key,
    made.key_day,
    made.revenue_micros,
    made.currency,
    made.transaction_key,
  ]
  for (const one of texts) values.push(one)
  let head = JSON.stringify(values).slice(0, -1)
  for (const json of jsons) head += `,${json}`
  return head
}

/**
 * The columns in the middle of the line, which are the same for all events of a record, and the separators around them.
 */
function tailOf(columns: RecordColumns): string {
  const values = JSON.stringify(recordColumns.map((name) => columns[name]))
  return `,${values.slice(1, -1)}\n`
}
