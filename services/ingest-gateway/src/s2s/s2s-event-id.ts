import { randomUUID } from 'node:crypto'

/** A UUIDv7 (RFC 9562) of that time: Node keeps random bits for many version 4 UUIDs ready, and has no version 7. */
export function mintEventId(at_ms: number): string {
  const time = at_ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
