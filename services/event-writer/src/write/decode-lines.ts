import type { LogRecord } from '@tributary/broker/broker'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import type { EventRow } from '@tributary/contracts/rows'
import { claimRank } from '@tributary/domain/event-key'
import { toEventRow } from '@tributary/domain/event-row'
import type { EventLine, RowLine } from './event-line.ts'

const newline = 0x0a

/**
 * The events of a record as lines; `source` names the log in their positions. Throws when one of them has no row: a record
 * is written as a whole or not at all. Events become bytes before duplicates are dropped: what waits for ClickHouse is outside the heap, and what it was
 * made of is gone. The events of a record share their bytes: a Buffer of its own costs more than what stands in it.
 */
export function decodeLines(value: Buffer, record: LogRecord, source: string): EventLine[] {
  const envelope = decodeEnvelope(value)
  const { partition, offset } = record
  const claim = { claim_rank: claimRank(envelope.source), received_at_ms: envelope.received_at_ms }
  const position = { topic: source, partition, offset }
  let text = ''
  let tail = ''
  const keys = envelope.events.map((event) => {
    const row = toEventRow(envelope, event, position)
    if (tail === '') tail = tailOf(row)
    const { app_id, day, key_day, event_key, transaction_key } = row
    text += `${headOf(row)}${tail},"${transaction_key}",${row.revenue_counts}]\n`
    return { app_id, day, key_day, event_key, transaction_key }
  })
  const bytes = Buffer.from(text)
  let to = 0
  return keys.map((key) => {
    const from = to
    // JSON text holds no newline of its own.
    to = bytes.indexOf(newline, from) + 1
    const { app_id, day, key_day, event_key, transaction_key } = key
    return { record, app_id, day, key_day, event_key, transaction_key, ...claim, bytes, from, to }
  })
}

/** The same event, its money not counted. `revenue_counts` is the last column, and one digit. */
export function withoutMoney<Line extends RowLine>(event: Line): Line {
  const bytes = Buffer.from(event.bytes.subarray(event.from, event.to))
  bytes.writeUInt8(0x30, bytes.length - 3)
  return { ...event, bytes, from: 0, to: bytes.length }
}

/**
 * The first columns of a line of JSONCompactEachRow, in the order of `eventRowColumns`, which a test holds. Columns of
 * JSON text stand as objects, which ClickHouse keeps byte for byte: as strings they would be escaped here only to be
 * unescaped there. Columns are named one by one because looking them up by name costs more than writing the JSON.
 */
function headOf(row: EventRow): string {
  const values = JSON.stringify([
    row.app_id,
    row.day,
    row.install_uuid,
    row.ts_ms,
    row.event_name,
    row.event_id,
    row.event_key,
    row.key_day,
    row.user_id,
    row.revenue_micros,
    row.currency,
    row.transaction_id,
    row.product_id,
  ])
  return `${values.slice(0, -1)},${row.props},${row.device},${row.extra}`
}

/** The columns in the middle of the line: of envelope and record alone, so the same for all events of a record. */
function tailOf(row: EventRow): string {
  const values = JSON.stringify([
    row.platform,
    row.source,
    row.sdk,
    row.sdk_platform,
    row.ip,
    row.user_agent,
    row.company_id,
    row.audit_key,
    row.received_at_ms,
    row.sent_at_ms,
    row.topic,
    row.partition,
    row.offset,
  ])
  return `,${values.slice(1, -1)}`
}
