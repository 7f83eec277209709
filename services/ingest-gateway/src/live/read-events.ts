import { constants, gunzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { isJsonObject } from '@tributary/domain/accept/accept-event'
import { byte, nowhere, skipColon, skipSpace, skipString, skipValue } from '@tributary/domain/accept/scan-json'
import type { WireBody } from '../judge/read-body.ts'

/** Where `"events"` begins in a body that is read in part: SDKs write it first or second. */
const events_key = '"events"'
const head_bytes = 96

/**
 * The first events of a body that was judged already, and how many bytes were read for them. Only the first
 * `live_body_bytes_max` bytes are read, so the last events of a large batch are not there. Never throws.
 */
export function readFirstEvents(body: WireBody, form: 'event' | 'batch'): { events: unknown[]; bytes: number } {
  const read = readPrefix(body)
  if (read === null) return { events: [], bytes: limits.live_body_bytes_max }
  const { prefix, whole } = read
  const events = whole ? readWhole(prefix, form) : form === 'batch' ? scanEvents(prefix) : []
  return { events, bytes: prefix.length }
}

/** The first bytes, inflated; null for what does not inflate as its last bytes claim. */
function readPrefix({ wire, encoding }: WireBody): { prefix: Buffer; whole: boolean } | null {
  const bytes_max = limits.live_body_bytes_max
  if (encoding?.trim().toLowerCase() !== 'gzip')
    return { prefix: wire.subarray(0, bytes_max), whole: wire.length <= bytes_max }
  const claimed = Math.max(1, wire.length < 18 ? 0 : wire.readUInt32LE(wire.length - 4))
  const part = wire.subarray(0, Math.ceil((wire.length * Math.min(bytes_max, claimed)) / claimed))
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 2 * bytes_max }
    return { prefix: gunzipSync(part, options), whole: part.length === wire.length }
  } catch {
    return null
  }
}

function readWhole(text: Buffer, form: 'event' | 'batch'): unknown[] {
  try {
    const value: unknown = JSON.parse(text.toString())
    if (form === 'event') return [value]
    return isJsonObject(value) && Array.isArray(value.events) ? value.events : []
  } catch {
    return []
  }
}

/** The whole events at the beginning of a text that breaks off. */
function scanEvents(text: Buffer): unknown[] {
  const key = text.toString('latin1', 0, head_bytes).indexOf(events_key)
  const array = key === -1 ? nowhere : skipColon(text, skipString(text, key))
  const events: unknown[] = []
  if (array === nowhere || text[array] !== byte.open_array) return events
  for (let at = array + 1; events.length < limits.bulk_events_max; at += 1) {
    const from = skipSpace(text, at)
    const to = skipValue(text, from, limits.object_depth_max + 1) // an event is an object of such
    if (to === nowhere || to >= text.length) break
    events.push(...readWhole(text.subarray(from, to), 'event'))
    at = skipSpace(text, to)
    if (text[at] !== byte.comma) break
  }
  return events
}
