import { countedOf, type Sender, senderHolders } from '@tributary/service-kit/http/shares'

/** The size of work that is done at once for a sender that used nothing yet. */
const quick_ms = 1

export interface TimeShares {
  /** Whether a sender may use more of this second, for work of `ms` at most. */
  isLeft(sender: Sender, ms: number): boolean
  /** Does the work and counts its time for the sender; the last work of a second may go beyond. */
  measure<T>(sender: Sender, work: () => T): T
}

/**
 * Shares of each second of the event loop, as `Shares` gives them: an app may use as much as is left free, and its
 * company twice as much, so one app alone has half of `ms_per_s`. A company that used nothing yet always finds time for
 * quick work, however many companies are busy. It finds time for slow work while enough is left. `now` in milliseconds.
 */
export function createTimeShares({ ms_per_s, now }: { ms_per_s: number; now: () => number }): TimeShares {
  const usedBy = new Map<string, number>()
  let used = 0
  let since_ms = now()
  return {
    isLeft(sender, ms) {
      const now_ms = now()
      if (now_ms - since_ms >= 1000) {
        usedBy.clear()
        used = 0
        since_ms = now_ms
      }
      return senderHolders(sender).every((holder) => {
        const own = usedBy.get(holder) ?? 0
        if (own === 0) return ms <= Math.max(quick_ms, ms_per_s - used)
        return countedOf(holder, own) <= ms_per_s - used
      })
    },
    measure(sender, work) {
      const from_ms = now()
      try {
        return work()
      } finally {
        const took_ms = now() - from_ms
        for (const holder of senderHolders(sender)) usedBy.set(holder, (usedBy.get(holder) ?? 0) + took_ms)
        used += took_ms
      }
    },
  }
}
