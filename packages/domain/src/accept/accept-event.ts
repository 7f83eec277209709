import { isCurrency } from '@tributary/contracts/currencies'
import type { Envelope } from '@tributary/contracts/envelope'
import type { RejectReason } from '@tributary/contracts/errors'
import { type EventFieldKind, eventFieldNames, eventFields } from '@tributary/contracts/event-fields'
import { limits } from '@tributary/contracts/limits'
import { cut_receipt } from '@tributary/contracts/receipt/receipt'
import { boundJson, boundString, jsonBytes } from './bound-json.ts'

/** Why an event is not accepted. `field` is set for `invalid_field` and `missing_required_fields`. */
export interface EventFault {
  reason: RejectReason
  field?: string
}

/** An event that `findEventFault` let pass. */
export type AcceptedEvent = Record<string, unknown> & {
  event_name: string
  install_uuid: string
  event_id?: string | null
}

const eventIdShape = /^[\x21-\x7e]{1,128}$/
const installUuidShape = /^[A-Za-z0-9_-]{1,64}$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this finds
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

/**
 * The first fault of one parsed event, null when it is accepted (docs/rules.md#events, docs/rules.md#which-code). It is
 * hand-written, because it runs for every event; a property test compares it with `EventFields` of contracts.
 */
export function findEventFault(event: unknown, source: Envelope['source'], now_ms: number): EventFault | null {
  if (!isJsonObject(event)) return { reason: 'missing_required_fields' }
  const { event_id, install_uuid, event_ts_ms, event_name } = event
  if (source === 'sdk' && !isEventId(event_id)) return { reason: 'bad_event_id' }
  if (isEmpty(install_uuid)) return missing('install_uuid')
  if (isEmpty(event_ts_ms) && (source !== 'sdk' || event_ts_ms === '')) return missing('event_ts_ms')
  if (isEmpty(event_name)) return missing('event_name')
  if (!isAbsent(event_id) && !isEventId(event_id)) return { reason: 'bad_event_id' }
  if (typeof install_uuid !== 'string' || !installUuidShape.test(install_uuid)) return invalid('install_uuid')
  if (!isEventName(event_name)) return invalid('event_name')
  if (!isAbsent(event_ts_ms)) {
    if (!Number.isInteger(event_ts_ms)) return invalid('event_ts_ms')
    if (!isInRange(event_ts_ms as number, now_ms)) return { reason: 'event_ts_ms_out_of_range', field: 'event_ts_ms' }
  }
  return findOptionalFault(event)
}

/** Optional fields; the others have been checked before. */
const checks: Record<EventFieldKind, ((value: unknown) => boolean) | null> = {
  event_id: null,
  event_name: null,
  event_time: null,
  install_uuid: null,
  text: (value) => typeof value === 'string' && value.length <= limits.optional_string_chars_max,
  revenue: (value) => typeof value === 'number' && Math.abs(value) <= limits.revenue_abs_max,
  currency: (value) => typeof value === 'string' && isCurrency(value),
  object: isBoundedObject,
}
const checkOf = new Map<string, (typeof checks)[EventFieldKind]>(
  eventFieldNames.map((name) => [name, name === 'props' ? areBoundedProps : checks[eventFields[name].kind]]),
)

/** Walks the fields that are there, in the order they came. */
function findOptionalFault(event: Record<string, unknown>): EventFault | null {
  let extraBound = 2
  for (const field in event) {
    const value = event[field]
    const check = checkOf.get(field)
    if (check === undefined) {
      const bound = boundJson(value, limits.object_depth_max)
      if (bound === Number.POSITIVE_INFINITY) return invalid(field)
      extraBound += boundString(field) + bound + 2
    } else if (check !== null && !isAbsent(value) && !check(value)) {
      return invalid(field)
    }
  }
  return extraBound > limits.extra_json_bytes_max ? findExtraOverflow(event) : null
}

/** Names the field whose bytes cross the limit; called only near it. Every depth has been checked before. */
function findExtraOverflow(event: Record<string, unknown>): EventFault | null {
  let bytes = 2
  for (const [field, value] of Object.entries(event)) {
    if (checkOf.has(field)) continue
    bytes += jsonBytes(field) + 1 + jsonBytes(value)
    if (bytes > limits.extra_json_bytes_max) return invalid(field)
    bytes += 1
  }
  return null
}

function isBoundedObject(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  const bound = boundJson(value, limits.object_depth_max)
  if (bound <= limits.object_json_bytes_max) return true
  return bound !== Number.POSITIVE_INFINITY && jsonBytes(value) <= limits.object_json_bytes_max
}

/** The receipt of `props` has bounds of its own (`cutReceipt`). */
function areBoundedProps(value: unknown): boolean {
  if (!isJsonObject(value) || !Object.hasOwn(value, 'receipt')) return isBoundedObject(value)
  const { receipt: _receipt, ...rest } = value
  return isBoundedObject(rest)
}

/**
 * An accepted event as the log has it: a receipt beyond its bounds is cut out, so that it costs its event nothing
 * (docs/receipts.md#the-receipt-of-an-event).
 */
export function cutReceipt<Event extends Record<string, unknown>>(event: Event): Event {
  const { props } = event
  if (!isJsonObject(props) || !Object.hasOwn(props, 'receipt')) return event
  const is_bounded =
    boundJson(props.receipt, limits.object_depth_max - 1) !== Number.POSITIVE_INFINITY &&
    jsonBytes(props.receipt) <= limits.receipt_bytes_max
  return is_bounded ? event : { ...event, props: { ...props, receipt: cut_receipt } }
}

/** True for what JSON calls an object. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isAbsent = (value: unknown): boolean => value === undefined || value === null
const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === ''
const isEventId = (value: unknown): boolean => typeof value === 'string' && eventIdShape.test(value)
const isEventName = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= limits.event_name_chars_max && !controlCharacter.test(value)
const isInRange = (event_ts_ms: number, now_ms: number): boolean =>
  event_ts_ms >= limits.event_ts_ms_min && event_ts_ms <= now_ms + limits.event_ts_ahead_ms_max

const missing = (field: string): EventFault => ({ reason: 'missing_required_fields', field })
/** A name that the client made up is cut before it is echoed. */
const invalid = (field: string): EventFault => ({ reason: 'invalid_field', field: echo(field) })

/** A client's string as it may be answered: well-formed and of bounded length. */
export const echo = (text: string): string => text.slice(0, limits.event_id_chars_max).toWellFormed()
