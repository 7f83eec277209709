import type { Envelope } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import type { EventRow } from '@tributary/contracts/rows'
import { jsonText } from './accept/json-text.ts'
import { eventKey, isInstall, noTransaction, transactionKey } from './event-key.ts'
import { utcDay } from './utc-day.ts'

type ReceivedEvent = Envelope['events'][number]

/** Where in the log an event was found. */
export interface LogPosition {
  topic: string
  partition: number
  offset: number
}

/** An event that the gateway should never have let through: no row can be made of it, now or later. */
export class UnwritableEventError extends Error {
  override name = 'UnwritableEventError'
}

/** Fields with a column of their own; all others go into `extra`. */
const columnFields: ReadonlySet<string> = new Set([
  'event_id',
  'event_name',
  'event_ts_ms',
  'install_uuid',
  'user_id',
  'revenue',
  'currency',
  'transaction_id',
  'product_id',
  'props',
  'device',
])
const refunds: ReadonlySet<string> = new Set(['subscription_refunded', 'purchase_refunded'])

/** Far beyond any accepted time and inside what every ClickHouse date type holds. */
const ts_ms_max = Date.UTC(2100, 0, 1)

/**
 * The row of one accepted event (docs/rules.md#events); the same for the same input, always.
 * Throws `UnwritableEventError` for what the gateway does not accept.
 */
export function toEventRow(envelope: Envelope, event: ReceivedEvent, position: LogPosition): EventRow {
  const ts_ms = time(event.event_ts_ms ?? envelope.received_at_ms, 'event_ts_ms')
  const day = utcDay(ts_ms)
  const event_name = text(event.event_name, 'event_name')
  const event_id = text(event.event_id, 'event_id')
  const props = object(event.props, 'props')
  const install_uuid = envelope.install_uuid.toWellFormed()
  const key = eventKey({ install_uuid, event_id, day, install: isInstall(event_name, props) })
  const revenue = event.revenue ?? null
  const transaction_id = text(event.transaction_id ?? '', 'transaction_id')
  return {
    app_id: envelope.app_id,
    day,
    install_uuid,
    ts_ms,
    event_name,
    event_id,
    event_key: key.event_key,
    key_day: key.key_day,
    user_id: text(event.user_id ?? '', 'user_id'),
    revenue_micros: revenue === null ? null : revenueMicros(revenue, event_name),
    currency: revenue === null ? '' : currency(event.currency ?? 'USD'),
    transaction_id,
    product_id: text(event.product_id ?? '', 'product_id'),
    props: props === undefined ? '{}' : jsonText(props),
    device: event.device === undefined ? '{}' : jsonText(object(event.device, 'device') ?? {}),
    extra: extraFields(event, envelope.platform),
    platform: envelope.platform,
    source: envelope.source,
    sdk: envelope.sdk.toWellFormed(),
    sdk_platform: envelope.sdk_platform.toWellFormed(),
    ip: envelope.ip.toWellFormed(),
    user_agent: envelope.user_agent.toWellFormed(),
    company_id: envelope.company_id,
    audit_key: envelope.audit_key.toWellFormed(),
    received_at_ms: time(envelope.received_at_ms, 'received_at_ms'),
    sent_at_ms: sentAt(envelope.sent_at_ms),
    topic: position.topic,
    partition: position.partition,
    offset: position.offset,
    transaction_key:
      revenue === null || transaction_id === '' ? noTransaction : transactionKey(event_name, transaction_id),
    revenue_counts: revenue === null ? 0 : 1,
  }
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

function time(value: unknown, field: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= limits.event_ts_ms_min && (value as number) < ts_ms_max) {
    return value as number
  }
  throw new UnwritableEventError(`${field} is out of range`)
}

/** The client's clock: anything may stand there, and it decides nothing here, so what is no time is absent. */
function sentAt(value: number | undefined): number {
  return value !== undefined && value > 0 && value < ts_ms_max ? Math.trunc(value) : 0
}

function currency(value: unknown): string {
  if (typeof value !== 'string' || !/^[A-Za-z]{3}$/.test(value)) throw new UnwritableEventError('currency is no code')
  return value.toUpperCase()
}

/**
 * Exact for amounts of up to six decimals: up to 1e9 the product is below 2^53 and its error below a fifth of a micro,
 * so rounding finds the micro that was meant. Signs are taken apart, since Math.round is not symmetric.
 */
function revenueMicros(value: unknown, event_name: string): string {
  if (typeof value !== 'number' || !(Math.abs(value) <= limits.revenue_abs_max)) {
    throw new UnwritableEventError('revenue is out of range')
  }
  const micros = Math.round(Math.abs(value) * 1e6)
  const negative = micros !== 0 && (value < 0 || refunds.has(event_name))
  return negative ? `-${micros}` : `${micros}`
}

/** JSON text of all other fields, written key by key: on an object, `__proto__` would be set instead of kept. */
function extraFields(event: ReceivedEvent, platform: string): string {
  let json = ''
  for (const field of Object.keys(event)) {
    if (columnFields.has(field) || (field === 'platform' && (event.platform ?? platform) === platform)) continue
    json += `${json === '' ? '' : ','}${jsonText(field)}:${jsonText(event[field])}`
  }
  return json === '' ? '{}' : `{${json}}`
}
