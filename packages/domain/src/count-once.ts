import type { AcceptedEvent } from './accept-event.ts'
import { isInstall } from './event-key.ts'

/** How many of the events of one request count toward the quota: duplicates inside it count once (decisions.md "Quota"). */
export function countOnce(accepted: readonly AcceptedEvent[]): number {
  const idsOf = new Map<string, Set<string>>()
  const installed = new Set<string>()
  let last_uuid: string | null = null
  let ids = new Set<string>()
  for (const { install_uuid, event_id, event_name, props } of accepted) {
    if (isInstall(event_name, props as Record<string, unknown> | undefined)) {
      installed.add(install_uuid)
      continue
    }
    // Events of one install mostly stand together.
    if (install_uuid !== last_uuid) {
      ids = idsOf.get(install_uuid) ?? new Set()
      idsOf.set(install_uuid, ids)
      last_uuid = install_uuid
    }
    ids.add(event_id as string) // accepted events have one
  }
  return [...idsOf.values()].reduce((sum, { size }) => sum + size, installed.size)
}
