import { day_ms } from '@tributary/contracts/limits'
import { isInstall } from '../event-key.ts'
import type { AcceptedEvent } from './accept-event.ts'

/**
 * How many of the events of one request count toward the quota: duplicates inside it count once, by the idempotency key
 * and its days, as the event-writer drops them. An event without a time of its own has the day of its receipt.
 */
export function countOnce(accepted: readonly AcceptedEvent[], received_at_ms: number): number {
  const daysOf = new Map<string, Map<string, number[]>>()
  const installed = new Set<string>()
  let counted = 0
  let last_uuid: string | null = null
  let days = new Map<string, number[]>()
  for (const { install_uuid, event_id, event_name, event_ts_ms, props } of accepted) {
    if (isInstall(event_name, props as Record<string, unknown> | undefined)) {
      installed.add(install_uuid)
      continue
    }
    // Events of one install are mostly neighbours.
    if (install_uuid !== last_uuid) {
      days = daysOf.get(install_uuid) ?? new Map()
      daysOf.set(install_uuid, days)
      last_uuid = install_uuid
    }
    const day = Math.floor(((event_ts_ms as number | null | undefined) ?? received_at_ms) / day_ms)
    if (countsOn(day, event_id as string, days)) counted += 1 // accepted events have an id
  }
  return counted + installed.size
}

/** Notes the day of an id, unless the id counted on that day or a neighbour of it. */
function countsOn(day: number, event_id: string, days: Map<string, number[]>): boolean {
  const known = days.get(event_id)
  if (known === undefined) days.set(event_id, [day])
  else if (known.some((other) => Math.abs(other - day) <= 1)) return false
  else known.push(day)
  return true
}
