import type { LogRecord } from '@tributary/broker/broker'
import type { MoneyKey } from '@tributary/domain/money/count-money'
import type { RowKey } from './drop-duplicates.ts'

/** One event, ready to be inserted, with what it takes to tell whether it, or its money, is a duplicate. */
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
  /** Holds the line from `from` up to `to`, exclusive, and perhaps others: all columns but `revenue_counts` and `log_rows`. */
  bytes: Buffer
  from: number
  to: number
  /** Decided after the line was made. */
  revenue_counts: 0 | 1
}

/** The lines one after another, each ended by whether its money counts and by `log_rows`, which they share. */
export function joinLines(rows: readonly RowLine[], log_rows: number): Buffer {
  // The flag is the second byte.
  const end = Buffer.from(`,0,${log_rows}]\n`)
  const lines = Buffer.allocUnsafe(rows.reduce((total, { from, to }) => total + to - from + end.length, 0))
  let at = 0
  for (const { bytes, from, to, revenue_counts } of rows) {
    at += bytes.copy(lines, at, from, to)
    lines.set(end, at)
    lines[at + 1] = end[1]! + revenue_counts
    at += end.length
  }
  return lines
}
