import type { LogRecord } from '@tributary/broker/broker'
import type { MoneyKey } from '@tributary/domain/money/count-money'
import type { RowKey } from './drop-duplicates.ts'

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
  /** Holds the line from `from` up to `to`, exclusive, and perhaps others: all columns but the last, `revenue_counts`. */
  bytes: Buffer
  from: number
  to: number
  /** Decided after the line was made; it ends the line when that is inserted. */
  revenue_counts: 0 | 1
}

/** `,0]` and a newline; the flag is its second byte. */
const end = Buffer.from(',0]\n')

/** The lines one after another, each ended by whether its money counts. */
export function joinLines(rows: readonly RowLine[]): Buffer {
  const lines = Buffer.allocUnsafe(rows.reduce((total, { from, to }) => total + to - from + end.length, 0))
  let at = 0
  for (const { bytes, from, to, revenue_counts } of rows) {
    at += bytes.copy(lines, at, from, to)
    lines[at] = end[0]!
    lines[at + 1] = end[1]! + revenue_counts
    lines[at + 2] = end[2]!
    lines[at + 3] = end[3]!
    at += end.length
  }
  return lines
}
