import { utcDay } from './utc-day.ts'

/**
 * The two audit keys that a request of one backend event can have. The second is for another body under the same
 * `event_id` and day. It has a `~`, so that character is percent-encoded in ids.
 */
export function serverEventAuditKeys(request: {
  received_at_ms: number
  event_id: string
  body_sha256: string
}): string[] {
  const { received_at_ms, event_id, body_sha256 } = request
  const day = utcDay(received_at_ms)
  const name = `s2s/${day}/${encodeURIComponent(event_id).replaceAll('~', '%7E')}`
  return ['', `~${body_sha256.slice(0, 8)}`].map((suffix) => `${name}${suffix}.json`)
}
