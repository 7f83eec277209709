import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { hasMoreItems } from '@tributary/domain/accept/count-items'
import { type SdkBatch, toSdkBatch } from '@tributary/domain/accept/sdk-batch'
import { parseJson } from '@tributary/service-kit/http/parse-json'

interface ReadBatch extends SdkBatch {
  /** The client's own bytes of the `events` array, null when they are not certain. */
  raw_events: Buffer | null
}

/**
 * The batch in a body: 400 `bad_json`, then `bad_batch_shape` for anything but 1 to 500 events with a numeric
 * `sent_at_ms` or none.
 */
export function readBatch(body: Buffer): ReadBatch {
  const batch = readSplitBatch(body) ?? { ...toSdkBatch(parseJson(body)), raw_events: null }
  if (batch.events.length === 0 || batch.events.length > limits.sdk_batch_events_max) throw wrongCount()
  return batch
}

const wrongCount = () =>
  new CodedError('bad_batch_shape', { field: 'events', message: 'A batch holds 1 to 500 events.' })

const plainHead =
  /^[ \t\n\r]*\{[ \t\n\r]*(?:"sent_at_ms"[ \t\n\r]*:[ \t\n\r]*(0|[1-9]\d{0,14})[ \t\n\r]*,[ \t\n\r]*)?"events"[ \t\n\r]*:[ \t\n\r]*(?=\[)/
const plainTail =
  /\][ \t\n\r]*(?:,[ \t\n\r]*"sent_at_ms"[ \t\n\r]*:[ \t\n\r]*(0|[1-9]\d{0,14})[ \t\n\r]*)?\}[ \t\n\r]*$/
/** Long enough for both patterns as every SDK writes them; longer ones go the general way. */
const plain_edge_bytes = 96

/** A body in two parts: the text between head and tail, and the values of head and tail. */
export interface SplitBatch {
  /** The array, if it is one JSON value at all. */
  raw_events: Buffer
  sent_at_ms: number | undefined
}

/**
 * The form that every SDK sends: `{"events":[...],"sent_at_ms":1}`, in either order, and nothing else; null for other
 * forms. If the text between head and tail is one JSON value, the body has only these two members. The text is then the
 * array, and no repeated key or escape can hide in it.
 */
export function splitBatch(body: Buffer): SplitBatch | null {
  const head = plainHead.exec(body.toString('latin1', 0, plain_edge_bytes))
  if (!head) return null
  const edge = body.toString('latin1', Math.max(head[0].length, body.length - plain_edge_bytes))
  const tail = plainTail.exec(edge)
  if (!tail || (head[1] !== undefined && tail[1] !== undefined)) return null
  const sent = head[1] ?? tail[1]
  return {
    raw_events: body.subarray(head[0].length, body.length - tail[0].length + 1),
    sent_at_ms: sent === undefined ? undefined : Number(sent),
  }
}

function readSplitBatch(body: Buffer): ReadBatch | null {
  const split = splitBatch(body)
  if (split === null) return null
  // Making values of a large body takes a hundred times as long as counting its items.
  if (hasMoreItems(split.raw_events, limits.sdk_batch_events_max)) throw wrongCount()
  try {
    return { ...split, events: parseJson(split.raw_events) as unknown[] }
  } catch {
    return null // the general way decides
  }
}
