import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@tributary/contracts/limits'
import type { StoreFault } from '@tributary/stores/ask'

/** Lets the questions of one app to one store through: within its rate, and not while the store is away. */
export interface StoreGate {
  /** Milliseconds for which the store rests, 0 while it answers. */
  rest_ms(): number
  /** Asks, or says at once that the store is away. After a rest one question goes first, and the others wait for what it says. */
  ask<Answer>(question: () => Promise<Answer | StoreFault>): Promise<Answer | StoreFault>
}

const gap_ms = 1000 / limits.store_requests_per_s_max

/** `elapsed` is a clock that never goes back, in milliseconds. */
export function createStoreGate(elapsed: () => number): StoreGate {
  let next_ms = 0
  let away_until_ms = 0
  let failures = 0
  let probing = false

  const rest_ms = () => Math.max(0, away_until_ms - elapsed())

  async function turn(): Promise<void> {
    const at_ms = Math.max(next_ms, elapsed())
    next_ms = at_ms + gap_ms
    const wait_ms = at_ms - elapsed()
    if (wait_ms > 0) await pause(wait_ms)
  }

  return {
    rest_ms,
    async ask(question) {
      if (rest_ms() > 0 || probing) return 'store_away'
      const is_probe = failures > 0
      probing = is_probe
      try {
        await turn()
        // Others may have found out meanwhile.
        if (!is_probe && rest_ms() > 0) return 'store_away'
        const answer = await question()
        if (answer !== 'store_away') failures = 0
        else if (rest_ms() === 0) {
          const doubled_ms = limits.receipt_retry_ms_min * 2 ** Math.min(failures, 20)
          away_until_ms = elapsed() + Math.min(doubled_ms, limits.receipt_retry_ms_max)
          failures += 1
        }
        return answer
      } finally {
        if (is_probe) probing = false
      }
    },
  }
}
