import type { LogRecord } from '@tributary/broker/broker'
import type { EventRow } from '@tributary/contracts/rows'
import { toEventRow } from '@tributary/domain/event-row'
import { decodeEnvelope } from './decode-envelope.ts'
import type { KeyAsk } from './drop-duplicates.ts'
import type { RowLine } from './insert-rows.ts'

/** One event, ready to be inserted, with what it takes to tell whether it is a duplicate. */
export interface EventLine extends KeyAsk, RowLine {}

/**
 * The events of a record as lines. Throws when one of them has no row: a record is written as a whole or not at all.
 * Events become text before duplicates are dropped: what stays in memory is the text alone, not all it was made of.
 */
export function decodeLines(value: Buffer, record: LogRecord): EventLine[] {
  const envelope = decodeEnvelope(value)
  return envelope.events.map((event) => {
    const row = toEventRow(envelope, event, record)
    const { app_id, key_day, event_key } = row
    return { record, app_id, key_day, event_key, line: lineOf(row) }
  })
}

/**
 * One line of JSONCompactEachRow in the order of `eventRowColumns`, which a test holds. The columns are named one by
 * one because looking them up by name costs more than writing the JSON.
 */
export const lineOf = (row: EventRow): string =>
  JSON.stringify([
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
    row.props,
    row.device,
    row.extra,
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
