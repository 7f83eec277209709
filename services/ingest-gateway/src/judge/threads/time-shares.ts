export interface TimeShares {
  /** Whether a holder may use more of this second. */
  isLeft(holder: string): boolean
  /** Does the work and counts its time for the holder; the last work of a second may go beyond. */
  measure<T>(holder: string, work: () => T): T
}

/**
 * Shares of each second of the event loop, as `Shares` gives them: a holder may use as much as is left free, so one alone
 * has half of `ms_per_s`, and a newcomer finds time however many are busy. `now` in milliseconds.
 */
export function createTimeShares({ ms_per_s, now }: { ms_per_s: number; now: () => number }): TimeShares {
  const usedBy = new Map<string, number>()
  let used = 0
  let since_ms = now()
  return {
    isLeft(holder) {
      const now_ms = now()
      if (now_ms - since_ms >= 1000) {
        usedBy.clear()
        used = 0
        since_ms = now_ms
      }
      const own = usedBy.get(holder) ?? 0
      return own === 0 || own <= ms_per_s - used
    },
    measure(holder, work) {
      const from_ms = now()
      try {
        return work()
      } finally {
        const took_ms = now() - from_ms
        usedBy.set(holder, (usedBy.get(holder) ?? 0) + took_ms)
        used += took_ms
      }
    },
  }
}
