import { hash } from 'node:crypto'
import type { Envelope } from '@tributary/contracts/envelope'
import {
  type EnvelopeFieldName,
  envelopeFieldNames,
  envelopeFields,
  eventFieldNames,
  eventFields,
  ownColumns,
} from '@tributary/contracts/event-fields'
import { limits } from '@tributary/contracts/limits'
import { receiptOf } from '@tributary/contracts/receipt/receipt'
import {
  type EventRow,
  jsonColumns,
  type MadeColumns,
  type RecordColumns,
  textColumns,
} from '@tributary/contracts/rows'
import { jsonText } from './accept/json-text.ts'
import { eventKey, isInstall, noTransaction, receiptKey, transactionKey } from './event-key.ts'
import { clockCorrection } from './install-time.ts'
import { isRefund } from './money/choose-claims.ts'
import { utcDay } from './utc-day.ts'

type ReceivedEvent = Envelope['events'][number]

/** Where in the log an event was found. */
export interface LogPosition {
  topic: string
  partition: number
  offset: number
}

/** An event that the gateway should have rejected: no row can be made of it, now or later. */
export class UnwritableEventError extends Error {
  override name = 'UnwritableEventError'
}

/** Where a named field goes: to its place in `textColumns` or `jsonColumns`, or into columns that rules make. */
const columnOf = new Map<string, { kind: 'text' | 'object' | 'made'; at: number }>([
  ...eventFieldNames
    .filter((name) => eventFields[name].column === 'made')
    .map((name) => [name, { kind: 'made', at: 0 }] as const),
  ...textColumns.map((name, at) => [name, { kind: 'text', at }] as const),
  ...ownColumns('object').map((name, at) => [name, { kind: 'object', at }] as const),
])

/** Far beyond any accepted time and inside what every ClickHouse date type holds. */
const ts_ms_max = Date.UTC(2100, 0, 1)

/** The columns of a row that come from its event alone. Arrays, since objects with computed keys are slow to make. */
export interface EventColumns {
  made: MadeColumns
  /** Values in the order of `textColumns`. */
  texts: string[]
  /** Values in the order of `jsonColumns`. */
  jsons: string[]
}

/**
 * The row of one accepted event (docs/rules.md#events); the same for the same input, always.
 * Throws `UnwritableEventError` for what the gateway does not accept.
 */
export function toEventRow(envelope: Envelope, event: ReceivedEvent, position: LogPosition): EventRow {
  const { made, texts, jsons } = toEventColumns(envelope, event)
  return {
    ...made,
    ...Object.fromEntries(textColumns.map((name, n) => [name, texts[n]])),
    ...Object.fromEntries(jsonColumns.map((name, n) => [name, jsons[n]])),
    ...toRecordColumns(envelope, position),
    revenue_counts: made.revenue_micros === null ? 0 : 1,
  } as EventRow
}

/** The columns that differ between the events of an envelope. */
export function toEventColumns(envelope: Envelope, event: ReceivedEvent): EventColumns {
  const ts_ms = time(event.event_ts_ms ?? envelope.received_at_ms, 'event_ts_ms')
  const day = utcDay(ts_ms)
  const event_name = text(event.event_name, 'event_name')
  const event_id = text(event.event_id, 'event_id')
  const install_uuid = envelope.install_uuid.toWellFormed()
  const install = isInstall(event_name, object(event.props, 'props'))
  const { event_key, key_day } = eventKey({
    install_uuid,
    event_id,
    day,
    install,
    of_store: envelope.source === 'store',
  })
  const money = moneyOf(event)
  // What a store can confirm is chosen by receipt-validator (docs/decisions/money.md#receipts-choose-what-counts).
  const isJudged = envelope.source === 'store' || receiptOf(event) !== null
  const keyOfMoney = () => (isJudged ? receiptKey(event_key, day) : moneyKey(event_name, event.transaction_id))
  const made: MadeColumns = {
    day,
    ts_ms,
    correction_ms: typeof event.event_ts_ms === 'number' ? correctionOf(envelope, ts_ms) : 0,
    event_name,
    event_id,
    event_key,
    key_day,
    revenue_micros: money?.revenue_micros ?? null,
    currency: money?.currency ?? '',
    transaction_key: money === null ? noTransaction : keyOfMoney(),
  }
  return { made, ...sentColumns(event, envelope.platform) }
}

/** SHA-256 of a receipt, which stands for it in tables: hexadecimal. */
export const receiptHash = (receipt: unknown): string => hash('sha256', jsonText(receipt))

/** The money of an event in micros, negative for a refund, and its currency; null without `revenue` (docs/rules.md#revenue). */
export function moneyOf(event: ReceivedEvent): { revenue_micros: string; currency: string } | null {
  const revenue = event.revenue ?? null
  if (revenue === null) return null
  const event_name = text(event.event_name, 'event_name')
  return { revenue_micros: revenueMicros(revenue, event_name), currency: currency(event.currency ?? 'USD') }
}

/** An event without a time has the time of our clock, which needs no correction. */
const correctionOf = ({ source, received_at_ms, sent_at_ms }: Envelope, ts_ms: number): number =>
  clockCorrection({ source, ts_ms, received_at_ms, sent_at_ms: sentAt(sent_at_ms) })

/** The value of each kind of envelope field in its column. */
const readers: Record<(typeof envelopeFields)[EnvelopeFieldName]['kind'], (value: never, field: string) => unknown> = {
  id: (value) => value,
  platform: (value) => value,
  source: (value) => value,
  text: (value: string) => value.toWellFormed(),
  later_text: (value: string | undefined) => (value ?? '').toWellFormed(),
  time,
  client_time: sentAt,
}
const recordFields = envelopeFieldNames.map((name) => ({ name, read: readers[envelopeFields[name].kind] }))

/** The columns that all events of a record share. */
export function toRecordColumns(envelope: Envelope, { topic, partition, offset }: LogPosition): RecordColumns {
  const columns: Record<string, unknown> = { topic, partition, offset }
  for (const { name, read } of recordFields) columns[name] = read(envelope[name] as never, name)
  return columns as unknown as RecordColumns
}

function text(value: unknown, field: string): string {
  if (typeof value !== 'string') throw new UnwritableEventError(`${field} is no string`)
  return value.toWellFormed()
}

function object(value: unknown, field: string): Record<string, unknown> | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object' || Array.isArray(value)) throw new UnwritableEventError(`${field} is no object`)
  return value as Record<string, unknown>
}

function moneyKey(event_name: string, transaction_id: unknown): string {
  const id = text(transaction_id ?? '', 'transaction_id')
  return id === '' ? noTransaction : transactionKey(event_name, id)
}

function objectText(value: unknown, field: string): string {
  const given = object(value, field)
  return given === undefined ? '{}' : jsonText(given)
}

function time(value: unknown, field: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= limits.event_ts_ms_min && (value as number) < ts_ms_max) {
    return value as number
  }
  throw new UnwritableEventError(`${field} is out of range`)
}

/**
 * The client's clock. A client may send anything there, and it decides nothing here, so a value that is no time counts
 * as absent.
 */
function sentAt(value: number | undefined): number {
  return value !== undefined && value > 0 && value < ts_ms_max ? Math.trunc(value) : 0
}

function currency(value: unknown): string {
  if (typeof value !== 'string' || !/^[A-Za-z]{3}$/.test(value)) throw new UnwritableEventError('currency is no code')
  return value.toUpperCase()
}

/**
 * This is exact for amounts of up to six decimals. Up to 1e9 the product is below 2^53 and its error below a fifth of a
 * micro, so rounding finds the micro that was meant. Signs are taken apart, since Math.round is not symmetric.
 */
function revenueMicros(value: unknown, event_name: string): string {
  if (typeof value !== 'number' || !(Math.abs(value) <= limits.revenue_abs_max)) {
    throw new UnwritableEventError('revenue is out of range')
  }
  const micros = Math.round(Math.abs(value) * 1e6)
  const negative = micros !== 0 && (value < 0 || isRefund(event_name))
  return negative ? `-${micros}` : `${micros}`
}

function withoutReceipt(event: ReceivedEvent): unknown {
  const receipt = receiptOf(event)
  return receipt === null ? event.props : { ...(event.props as object), receipt: receiptHash(receipt) }
}

const noTexts = textColumns.map(() => '')
const noJsons = jsonColumns.map(() => '{}')

/**
 * The columns that hold fields as they were sent. One walk over the present fields makes them, since looking for absent
 * fields costs more. `extra` is written key by key, because on an object `__proto__` would be set instead of kept.
 */
function sentColumns(event: ReceivedEvent, platform: string): Omit<EventColumns, 'made'> {
  const texts = noTexts.slice()
  const jsons = noJsons.slice()
  let extra = ''
  for (const field in event) {
    const column = columnOf.get(field)
    if (column === undefined) {
      if (field === 'platform' && (event.platform ?? platform) === platform) continue
      extra += `${extra === '' ? '' : ','}${jsonText(field)}:${jsonText(event[field])}`
    } else if (column.kind === 'text') {
      texts[column.at] = text(event[field] ?? '', field)
    } else if (column.kind === 'object') {
      const value = field === 'props' ? withoutReceipt(event) : event[field]
      jsons[column.at] = objectText(value, field)
    }
  }
  if (extra !== '') jsons[jsons.length - 1] = `{${extra}}`
  return { texts, jsons }
}
