import type { AcceptedEvent } from './accept-event.ts'
import { isInstall } from './event-key.ts'

/** How many of the events of one request count toward the quota: duplicates inside it count once (decisions.md "Quota"). */
export function countOnce(accepted: readonly AcceptedEvent[]): number {
  if (accepted.length < 2) return accepted.length
  const keys = new Set<string>()
  for (const { install_uuid, event_id, event_name, props } of accepted) {
    keys.add(
      isInstall(event_name, props as Record<string, unknown> | undefined)
        ? install_uuid
        : `${install_uuid}\0${event_id}`,
    )
  }
  return keys.size
}
