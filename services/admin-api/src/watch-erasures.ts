import type { Broker } from '@tributary/broker/broker'
import { consumers } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import { findOldestQueued } from '@tributary/erasure/find-oldest-queued'
import type { Service } from '@tributary/service-kit/service/run-service'
import type { Pool } from 'pg'

interface WatchDeps extends Pick<Service, 'now' | 'troubles'> {
  pool: Pool
  broker: Pick<Broker, 'groupOffsets'>
}

/**
 * Reports a request for erasure that waits longer than `erasure_late_ms` in `/health`, which `tributary doctor` reads. The
 * eraser may be away, so another service looks, also at the requests of apps that the eraser has not read.
 */
export function watchErasures({ pool, broker, now, troubles }: WatchDeps) {
  let oldest_ms: number | null = null
  /** Time since which this process sees something wait whose time lies in the future. */
  let ahead_ms: number | null = null
  troubles.push(() => (oldest_ms === null || now() - oldest_ms <= limits.erasure_late_ms ? [] : [lateSince(oldest_ms)]))
  return async () => {
    const waiting = [await findOldestQueued(pool), ...(await findUnread(broker))].filter((at_ms) => at_ms !== null)
    const first_ms = waiting.length === 0 ? null : Math.min(...waiting)
    ahead_ms = first_ms !== null && first_ms > now() ? Math.min(ahead_ms ?? now(), now()) : null
    oldest_ms = ahead_ms ?? first_ms
  }
}

/** When the log took the oldest request of each partition that the eraser has not read; null where it has read all. */
async function findUnread(broker: WatchDeps['broker']): Promise<(number | null)[]> {
  const { name, topic } = consumers.eraser
  const partitions = await broker.groupOffsets(name, topic.name)
  return partitions.map(({ oldest_unread_ms }) => oldest_unread_ms)
}

const hour_ms = 3_600_000

const lateSince = (oldest_ms: number) => ({
  code: 'erasures_wait',
  message: `A request for erasure has waited since ${new Date(oldest_ms).toISOString()}, longer than ${limits.erasure_late_ms / hour_ms} hours.`,
  fix: 'Is the eraser running? Its log names what it waits for: see "Deletion requests" in docs/operations.md. Then: npx tributary erase run',
  refuses: false,
})
