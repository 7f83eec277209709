import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'

/** Bodies that are on their way, and when each began. */
export interface Pace {
  watch(bytes: () => number, end: (error: Error) => void): Watched
  forget(watched: Watched): void
  /** Ends the bodies that come too slowly. */
  check(): void
}
interface Watched {
  since_ms: number
  bytes(): number
  end(error: Error): void
}

/**
 * Ends a body with 408 `request_timeout` if it is slower on average than `limits.body_bytes_per_s_min`. It does so only
 * after `limits.slow_body_grace_ms` (docs/rules.md#shares-of-the-gateway).
 */
export function createPace(elapsed: () => number): Pace {
  const open = new Set<Watched>()
  return {
    watch(bytes, end) {
      const watched = { since_ms: elapsed(), bytes, end }
      open.add(watched)
      return watched
    },
    forget: (watched) => void open.delete(watched),
    check() {
      const now_ms = elapsed()
      for (const { since_ms, bytes, end } of open) {
        const age_ms = now_ms - since_ms
        if (age_ms < limits.slow_body_grace_ms || bytes() * 1000 >= age_ms * limits.body_bytes_per_s_min) continue
        end(new CodedError('request_timeout', { headers: { connection: 'close' } }))
      }
    },
  }
}
