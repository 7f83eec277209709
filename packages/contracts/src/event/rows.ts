import type { Envelope } from './envelope.ts'
import { envelopeFieldNames, type OwnColumn, ownColumns } from './event-fields.ts'

/** Columns of `events_raw_v1` that rules of `domain/event-row` make of an event. */
export interface MadeColumns {
  /** UTC date of `ts`, `YYYY-MM-DD`. */
  day: string
  /** Event time, Unix epoch milliseconds. */
  ts_ms: number
  /** Milliseconds to add to `ts_ms` for the age of the event (docs/rules.md#age-of-an-event). */
  correction_ms: number
  event_name: string
  event_id: string
  /** Unsigned 64-bit decimal: first 8 bytes of SHA-256 of the idempotency key. */
  event_key: string
  /** `day`; `1970-01-01` for an install event, whose key counts once for ever and not by day. */
  key_day: string
  /** Signed money in micros of `currency` (refunds negative); null without `revenue`. */
  revenue_micros: string | null
  /** ISO 4217 upper case; empty without `revenue`. */
  currency: string
  /** Unsigned 64-bit decimal: first 8 bytes of SHA-256 of `event_name` and `transaction_id`; 0 without money or transaction. */
  transaction_key: string
}
const madeColumns = [
  'day',
  'ts_ms',
  'correction_ms',
  'event_name',
  'event_id',
  'event_key',
  'key_day',
  'revenue_micros',
  'currency',
  'transaction_key',
] as const satisfies ReadonlyArray<keyof MadeColumns>

/** Columns that hold a field as it was sent, empty when it is absent. */
export const textColumns = ownColumns('text')
/** JSON text: the objects of an event that have a column, and all fields that have none. */
export const jsonColumns: readonly JsonColumn[] = [...ownColumns('object'), 'extra']
type JsonColumn = OwnColumn<'object'> | 'extra'

/** The columns that all rows of a record share. */
export interface RecordColumns extends Omit<Envelope, 'v' | 'events' | 'sent_at_ms' | 'country'> {
  /** Empty when unknown. */
  country: string
  /** 0 when absent. */
  sent_at_ms: number
  /** Log position: `<topic>@<log>`, the name of the topic and the identity of the log (docs/decisions/log.md#a-log-has-an-identity). */
  topic: string
  partition: number
  offset: number
}
export const recordColumns: readonly (keyof RecordColumns)[] = [...envelopeFieldNames, 'topic', 'partition', 'offset']

/** A row of `events_raw_v1`. */
export interface EventRow extends MadeColumns, Record<OwnColumn<'text'> | JsonColumn, string>, RecordColumns {
  /** 1 when its money counts; 0 without money, or when its transaction was counted before. */
  revenue_counts: 0 | 1
}

/**
 * The columns of an insert into `events_raw_v1`, in the order of a line (JSONCompactEachRow). `revenue_counts` is known last, so it comes
 * last. A test compares the columns with those of the table.
 */
export const eventRowColumns: readonly (keyof EventRow)[] = [
  ...madeColumns,
  ...textColumns,
  ...jsonColumns,
  ...recordColumns,
  'revenue_counts',
]

/** The same with the time of storing, which the batch pins. */
export const storedEventColumns = [...eventRowColumns, 'stored_at_ms'] as const

/**
 * The ranks of claims on one transaction: the money of the highest rank counts, in any order of arrival. `closed` beats all claims: the
 * money of the best one was erased. The view `revenue_raw_mv_v1` computes the numbers of SDKs and backends from `source`; a test compares
 * both. Those of stores stand in no table: `chooseClaims` knows them by the verdicts.
 */
export const claimRanks = { sdk: 1, backend: 2, receipt: 3, store: 4, closed: 255 } as const

/** Events whose money is subtracted (docs/rules.md#revenue). They are no purchases. */
export const refundEvents: readonly string[] = ['subscription_refunded', 'purchase_refunded']

/** Names of events that usually have money (docs/api.md#history-from-a-file). Without `revenue` they have none. */
export const moneyEvents: readonly string[] = ['purchase', 'subscribe', 'subscription_renewed', ...refundEvents]

/**
 * A row of `revenue_raw_v1` (a view fills it: one row for each event whose money counts) and of `revenue_cancelled_v1` (those of them
 * that a better claim has beaten since).
 */
export interface RevenueRow {
  app_id: string
  /** UTC date of `ts_ms`, `YYYY-MM-DD`. */
  day: string
  install_uuid: string
  ts_ms: number
  event_name: string
  /** The same as in `EventRow`. */
  event_key: string
  currency: string
  /** Signed micros of `currency`, below 2^53. */
  amount_micros: number
  /** The same as in `EventRow`. */
  transaction_key: string
  received_at_ms: number
  topic: string
  partition: number
  offset: number
}

/** The columns of an insert into `revenue_cancelled_v1`, in the order of a line. */
export const revenueRowColumns = [
  'app_id',
  'day',
  'install_uuid',
  'ts_ms',
  'event_name',
  'event_key',
  'currency',
  'amount_micros',
  'transaction_key',
  'received_at_ms',
  'topic',
  'partition',
  'offset',
] as const satisfies ReadonlyArray<keyof RevenueRow>
