import type { LogRecord } from '@tributary/broker/broker'
import type { MoneyKey } from '../money/count-money.ts'
import type { RowKey } from './drop-duplicates.ts'

/** One event, ready to be inserted, with what it takes to tell whether it, or its money, is a duplicate. */
export interface EventLine extends RowKey, MoneyKey, RowLine {
  /** UTC date of the event, `YYYY-MM-DD`. */
  day: string
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
