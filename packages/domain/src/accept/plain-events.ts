import { isUtf8 } from 'node:buffer'
import { factEvents } from '@tributary/contracts/attribution/found'
import { isCurrency } from '@tributary/contracts/currencies'
import { type EventFieldKind, eventFieldNames, eventFields } from '@tributary/contracts/event-fields'
import { limits } from '@tributary/contracts/limits'
import {
  byte,
  nowhere,
  skipColon,
  skipNumber,
  skipObject,
  skipSpace,
  skipString,
  skipValue,
  skipWord,
} from './scan-json.ts'

/** SDK events that are all accepted, of one install, none of them an `app_install`, none with a receipt. */
export interface PlainEvents {
  install_uuid: string
  /** Ids in the order of the events. */
  event_ids: string[]
  /** Whether one of them has a name that `isFact` holds for. */
  has_facts: boolean
}

/**
 * Reads a JSON array of events without making values of it, which would cost four times as much, garbage included. Null
 * for anything that is not plainly right: a rejected event, several installs, an escape in a checked field, a receipt, an
 * object near its limit, no JSON. `JSON.parse` and `acceptBatch` judge such arrays. A property test checks that they accept
 * the same events as this. Nothing of `json` is kept.
 */
export function findPlainEvents(json: Buffer, now_ms: number): PlainEvents | null {
  if (!isUtf8(json) || json[0] !== byte.open_array) return null
  const event_ids: string[] = []
  let install_uuid = ''
  let has_facts = false
  let at = 1
  do {
    const found = { id: nowhere, id_end: nowhere, install: nowhere, install_end: nowhere, is_fact: false }
    at = skipSpace(json, skipEvent(json, skipSpace(json, at), now_ms, found))
    if (at === nowhere || event_ids.length === limits.sdk_batch_events_max) return null
    const { id, id_end, install, install_end } = found
    event_ids.push(json.toString('latin1', id, id_end))
    if (found.is_fact) has_facts = true
    if (install_uuid === '') install_uuid = json.toString('latin1', install, install_end)
    else if (!holds(json, install, install_end, install_uuid)) return null
    at += 1
  } while (json[at - 1] === byte.comma)
  return json[at - 1] === byte.close_array && at === json.length ? { install_uuid, event_ids, has_facts } : null
}

/** Where the checked strings of an event are, without their quotes. */
interface Found {
  id: number
  id_end: number
  install: number
  install_end: number
  /** Where a key is there twice, its last value counts. */
  is_fact: boolean
}

const required: readonly EventFieldKind[] = ['event_id', 'install_uuid', 'event_time', 'event_name']
/** The required fields first: one bit of each shows whether it is there. */
const fields = eventFieldNames
  .map((name) => ({ name, kind: eventFields[name].kind as EventFieldKind }))
  .toSorted((a, b) => Number(required.includes(b.kind)) - Number(required.includes(a.kind)))
const required_bits = (1 << required.length) - 1

/** The number of bytes that a byte of JSON text may become when it is written anew: `1e20`. */
const growth_max = 6

function skipEvent(json: Buffer, from: number, now_ms: number, found: Found): number {
  if (json[from] !== byte.open_object) return nowhere
  let seen = 0
  let extra_bytes = 0
  let at = from
  do {
    const key = skipSpace(json, at + 1)
    const key_end = skipString(json, key)
    const value = skipColon(json, key_end)
    if (value === nowhere) return nowhere
    const field = knownField(json, key + 1, key_end - 1)
    if (field === unknown) {
      if (json.subarray(key, key_end).includes(byte.backslash)) return nowhere // may spell a known one
      at = skipValue(json, value, limits.object_depth_max)
      extra_bytes += at - key
    } else {
      if (field < required.length) seen |= 1 << field
      at = skipField(json, value, field, now_ms, found)
    }
    if (at === nowhere) return nowhere
    at = skipSpace(json, at)
  } while (json[at] === byte.comma)
  const right = seen === required_bits && extra_bytes * growth_max <= limits.extra_json_bytes_max
  return right && json[at] === byte.close_object ? at + 1 : nowhere
}

const unknown = -1
const name_chars_max = Math.max(...fields.map(({ name }) => name.length))
/** The first field of a length and a first byte, and for each field the next one of the same. */
const byShape = new Int8Array((name_chars_max + 1) << 8).fill(unknown)
const nextOfShape = fields.map(({ name }, index) => {
  const shape = (name.length << 8) | name.charCodeAt(0)
  const next = byShape[shape]!
  byShape[shape] = index
  return next
})

function knownField(json: Buffer, from: number, to: number): number {
  if (to - from > name_chars_max) return unknown
  let field = byShape[((to - from) << 8) | json[from]!]!
  while (field !== unknown && !holds(json, from, to, fields[field]!.name)) field = nextOfShape[field]!
  return field
}

/** `isFact` of the bytes of a name. */
function isFactName(json: Buffer, from: number, to: number): boolean {
  for (const name of factEvents) if (holds(json, from, to, name)) return true
  return false
}

/** True when the bytes are this ASCII text. */
function holds(json: Buffer, from: number, to: number, text: string): boolean {
  if (to - from !== text.length) return false
  for (let i = 0; i < text.length; i += 1) if (json[from + i] !== text.charCodeAt(i)) return false
  return true
}

/** The rules of `findEventFault`, for the common case of each. */
function skipField(json: Buffer, from: number, field: number, now_ms: number, found: Found): number {
  const { kind, name } = fields[field]!
  switch (kind) {
    case 'event_id':
      found.id = from + 1
      found.id_end = skipText(json, from, visible, limits.event_id_chars_max) - 1
      return found.id_end + 1
    case 'install_uuid':
      found.install = from + 1
      found.install_end = skipText(json, from, identifying, limits.install_uuid_chars_max) - 1
      return found.install_end + 1
    case 'event_name': {
      const end = skipText(json, from, printable, limits.event_name_chars_max)
      found.is_fact = isFactName(json, from + 1, end - 1)
      return holds(json, from + 1, end - 1, 'app_install') ? nowhere : end
    }
    case 'event_time':
      return skipTime(json, from, now_ms)
  }
  if (json[from] === byte.n) return skipWord(json, from, 'null')
  switch (kind) {
    case 'object': {
      if (json[from] !== byte.open_object) return nowhere
      const end = skipObject(json, from, limits.object_depth_max - 1, name === 'props' ? 'receipt' : null)
      return (end - from) * growth_max <= limits.object_json_bytes_max ? end : nowhere
    }
    case 'revenue': {
      const end = skipNumber(json, from)
      return end !== nowhere && Math.abs(Number(json.toString('latin1', from, end))) <= limits.revenue_abs_max
        ? end
        : nowhere
    }
    case 'currency': {
      const end = skipString(json, from)
      return isCurrency(json.toString('latin1', from + 1, end - 1)) ? end : nowhere
    }
    default: {
      const end = skipString(json, from)
      return end - from - 2 <= limits.optional_string_chars_max ? end : nowhere
    }
  }
}

/** Milliseconds written as 13 digits, which is from 2001 to 2286. */
function skipTime(json: Buffer, from: number, now_ms: number): number {
  const end = skipNumber(json, from)
  if (end - from !== 13) return nowhere
  let ms = 0
  for (let at = from; at < end; at += 1) {
    const digit = json[at]! - byte.zero
    if (digit < 0 || digit > 9) return nowhere
    ms = ms * 10 + digit
  }
  return ms >= limits.event_ts_ms_min && ms <= now_ms + limits.event_ts_ahead_ms_max ? end : nowhere
}

/** A string of 1 to `chars_max` bytes of one kind. */
function skipText(json: Buffer, from: number, kind: Uint8Array, chars_max: number): number {
  if (json[from] !== byte.quote) return nowhere
  let at = from + 1
  while (kind[json[at]!] === 1) at += 1
  return json[at] === byte.quote && at > from + 1 && at <= from + 1 + chars_max ? at + 1 : nowhere
}

const kindOf = (shape: RegExp): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, code) => (shape.test(String.fromCharCode(code)) ? 1 : 0))
const printable = kindOf(/[ !#-[\]-~]/)
const visible = kindOf(/[!#-[\]-~]/)
const identifying = kindOf(/[A-Za-z0-9_-]/)
