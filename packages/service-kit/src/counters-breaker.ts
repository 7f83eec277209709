/** Between a failure of the counters and the next try, ms: a request must not wait for a Redis that hangs. */
const pause_ms = 1000

/**
 * Runs steps on the counters (Redis or its twin); null when they are away. After a failure no step is tried for a
 * second, so that a store that hangs costs one request its time-out and not each of them.
 */
export function countersBreaker(now: () => number) {
  let closed_until_ms = 0
  return async <T>(step: () => Promise<T>): Promise<T | null> => {
    if (now() < closed_until_ms) return null
    try {
      return await step()
    } catch {
      closed_until_ms = now() + pause_ms
      return null
    }
  }
}
