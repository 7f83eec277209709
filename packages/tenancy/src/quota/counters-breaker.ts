/** Pause between a failure and the next try, ms; doubled with each failure in a row. */
const pause_first_ms = 1000
const pause_most_ms = 5000

/** A circuit breaker: runs a step on the counters; null when they are away. */
export type CountersBreaker = <T>(step: () => Promise<T>) => Promise<T | null>

/**
 * Steps on the counters (Redis or its twin) fail as null. After a failure one request at a time tries again, after a
 * pause: a store that hangs costs few requests its time-out, and the others nothing. `onMissed` is called for each step that
 * failed or was skipped.
 */
export function countersBreaker(now: () => number, onMissed = () => {}): CountersBreaker {
  let failures = 0
  let open_at_ms = 0
  let trying = false
  // A pause that is longer was begun by a clock that was ahead.
  const pauses = () => open_at_ms - now() > 0 && open_at_ms - now() <= pause_most_ms
  const miss = () => {
    onMissed()
    return null
  }
  return async (step) => {
    if (failures > 0 && (trying || pauses())) return miss()
    trying = true
    try {
      const answer = await step()
      failures = 0
      return answer
    } catch {
      if (pauses()) return miss() // one of many that were cut off together
      open_at_ms = now() + Math.min(pause_most_ms, pause_first_ms * 2 ** failures)
      failures += 1
      return miss()
    } finally {
      trying = false
    }
  }
}

/** A breaker that counts the steps that did not take place. A step that took place may give null itself. */
export const countingBreaker = (now: () => number, missed: { inc(): void }): CountersBreaker =>
  countersBreaker(now, () => missed.inc())
