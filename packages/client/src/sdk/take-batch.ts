import { limits } from '../limits.ts'

export interface BatchLimits {
  events_max: number
  body_bytes_max: number
}

/** The first events that fit into one request; at least one, whatever its size. */
export function takeBatch<E extends { bytes: number }>(
  events: Iterable<E>,
  { events_max, body_bytes_max }: BatchLimits,
): E[] {
  const batch: E[] = []
  let bytes = limits.wrapping_bytes
  for (const event of events) {
    bytes += event.bytes + 1
    if (batch.length === events_max || (batch.length > 0 && bytes > body_bytes_max)) break
    batch.push(event)
  }
  return batch
}

const encoder = new TextEncoder()

/** Length of a text in UTF-8 bytes. */
export const utf8Bytes = (text: string): number => encoder.encode(text).length
