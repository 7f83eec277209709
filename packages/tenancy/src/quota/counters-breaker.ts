/** From a failure to the next try, ms; doubled with each failure in a row. */
const pause_first_ms = 1000
const pause_most_ms = 5000

/** A circuit breaker: runs a step on the counters; null when they are away. */
export type CountersBreaker = <T>(step: () => Promise<T>) => Promise<T | null>

/**
 * Steps on the counters (Redis or its twin) fail as null. After a failure one request at a time tries again, after a
 * pause: a store that hangs costs few requests its time-out, and the others nothing.
 */
export function countersBreaker(now: () => number): CountersBreaker {
  let failures = 0
  let open_at_ms = 0
  let trying = false
  return async (step) => {
    if (failures > 0 && (trying || now() < open_at_ms)) return null
    trying = true
    try {
      const answer = await step()
      failures = 0
      return answer
    } catch {
      if (now() < open_at_ms) return null // one of many that were cut off together
      open_at_ms = now() + Math.min(pause_most_ms, pause_first_ms * 2 ** failures)
      failures += 1
      return null
    } finally {
      trying = false
    }
  }
}

/** A breaker that counts the steps that did not take place. A step that took place may give null itself. */
export function countingBreaker(now: () => number, missed: { inc(): void }): CountersBreaker {
  const breaker = countersBreaker(now)
  return async (step) => {
    const answer = await breaker(async () => ({ found: await step() }))
    if (answer === null) missed.inc()
    return answer === null ? null : answer.found
  }
}
