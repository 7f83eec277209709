import { limits } from '@tributary/contracts/limits'
import { findOldestQueued } from '@tributary/erasure/find-oldest-queued'
import type { Service } from '@tributary/service-kit/service/run-service'
import type { Pool } from 'pg'

/**
 * Reports a request for erasure that waits longer than `erasure_late_ms` in `/health`, which `tributary doctor` reads. The eraser
 * may be away, so another service looks.
 */
export function watchErasures({ pool, now, troubles }: Pick<Service, 'now' | 'troubles'> & { pool: Pool }) {
  let oldest_ms: number | null = null
  troubles.push(() => (oldest_ms === null || now() - oldest_ms <= limits.erasure_late_ms ? [] : [lateSince(oldest_ms)]))
  return async () => {
    oldest_ms = await findOldestQueued(pool)
  }
}

const hour_ms = 3_600_000

const lateSince = (oldest_ms: number) => ({
  code: 'erasures_wait',
  message: `A request for erasure has waited since ${new Date(oldest_ms).toISOString()}, longer than ${limits.erasure_late_ms / hour_ms} hours.`,
  mend: 'Is the eraser running? Its log names what it waits for: see "Deletion requests" in docs/operations.md. Then: npx tributary erase run',
  refuses: false,
})
