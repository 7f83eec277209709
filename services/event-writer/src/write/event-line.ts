import type { LogRecord } from '@tributary/broker/broker'
import type { MoneyKey } from '@tributary/domain/money/count-money'
import type { RowKey } from '@tributary/tables/events/drop-duplicates'

/** One event, ready to be inserted, with the facts that decide whether it, or its money, is a duplicate. */
export interface EventLine extends RowKey, MoneyKey, RowLine {
  /** UTC date of the event, `YYYY-MM-DD`. */
  day: string
  install_uuid: string
  /** See `datedAt`. */
  dated_at_ms: number
}

/** A row as a line of JSONCompactEachRow without its end, and the record that it came with. */
export interface RowLine {
  record: LogRecord
  /** Holds the line from `from` up to `to`, exclusive, and perhaps others: all columns but the last two. */
  bytes: Buffer
  from: number
  to: number
  /** Decided after the line was made; it ends the line when that is inserted. */
  revenue_counts: 0 | 1
}

/** The lines one after another, each ended by whether its money counts, and by when it counts as stored. */
export function joinLines(rows: readonly RowLine[], stored_at_ms: number): Buffer {
  // The flag is the second byte.
  const end = Buffer.from(`,0,${stored_at_ms}]\n`)
  const lines = Buffer.allocUnsafe(rows.reduce((total, { from, to }) => total + to - from + end.length, 0))
  let at = 0
  for (const { bytes, from, to, revenue_counts } of rows) {
    at += bytes.copy(lines, at, from, to)
    end.copy(lines, at)
    lines[at + 1]! += revenue_counts
    at += end.length
  }
  return lines
}
