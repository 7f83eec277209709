import { type EventFieldKind, type EventFieldName, eventFields } from '@tributary/contracts/event-fields'
import { limits } from '@tributary/contracts/limits'
import { type EventFault, isJsonObject } from './accept-event.ts'
import { statedMessage } from './stated-attribution.ts'

/** Says to a person what is wrong with an event, and what would be right; `reason` and `field` are the contract. */
export function faultMessage({ reason, field }: EventFault, event: unknown): string {
  if (reason === 'bad_event_id')
    return `event_id is 1 to ${limits.event_id_chars_max} visible ASCII characters, and an app sends one.`
  if (field === undefined) return 'An event is a JSON object.'
  if (reason === 'missing_required_fields') return `${field} is absent or empty.`
  const value = isJsonObject(event) ? event[field] : undefined
  if (reason === 'event_ts_ms_out_of_range') return outOfRange(value)
  if (!Object.hasOwn(eventFields, field)) {
    if (field === 'attribution' && isJsonObject(event)) return statedMessage(event)
    const kib = limits.extra_json_bytes_max / 1024
    return `${field} is none of the named fields: each of those has at most ${limits.object_depth_max} levels, and all together at most ${kib} KiB of JSON.`
  }
  const { kind } = eventFields[field as EventFieldName]
  return kind === 'event_time' && isTimeWithoutZone(value) ? timeWithoutZone : `${field} is ${wanted[kind]}.`
}

const wanted: Record<EventFieldKind, string> = {
  event_id: `1 to ${limits.event_id_chars_max} visible ASCII characters`,
  event_name: `text of at most ${limits.event_name_chars_max} characters, none of them a control character`,
  event_time: 'a whole number: Unix epoch milliseconds',
  install_uuid: `1 to ${limits.install_uuid_chars_max} characters of A-Z, a-z, 0-9, _ and -`,
  text: `text of at most ${limits.optional_string_chars_max} characters`,
  revenue: `a number, not text, of at most ${limits.revenue_abs_max} in amount`,
  currency: 'a code of ISO 4217 such as EUR; XTS and XXX are refused',
  object: `an object of at most ${limits.object_json_bytes_max / 1024} KiB of JSON and ${limits.object_depth_max} levels`,
}

const timeWithoutZone =
  'event_ts_ms is a time without a zone, so nobody knows which moment it means. Send Unix epoch milliseconds.'

function outOfRange(value: unknown): string {
  const range = 'event_ts_ms is from 2010 to 24 h ahead of now, in milliseconds.'
  const ms = Number(value) * 1000
  const inSeconds = ms >= limits.event_ts_ms_min && ms < limits.event_ts_ms_min * 10
  return inSeconds ? `${range} This looks like seconds: multiply by 1000.` : range
}

/** True for a date and time of ISO 8601 that names no zone. */
export const isTimeWithoutZone = (value: unknown): boolean =>
  typeof value === 'string' && /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$/.test(value)
