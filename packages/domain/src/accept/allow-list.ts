import { isJsonObject } from './accept-event.ts'

/**
 * The first event name that a server key does not allow; null if it allows all. An empty list allows everything. An
 * event without a name is not checked (docs/rules.md#allow-list).
 */
export function findForbiddenName(events: readonly unknown[], allowed_events: readonly string[]): string | null {
  if (allowed_events.length === 0) return null
  const allowed = new Set(allowed_events)
  for (const event of events) {
    const name = isJsonObject(event) ? event.event_name : undefined
    if (typeof name === 'string' && name !== '' && !allowed.has(name)) return name
  }
  return null
}
