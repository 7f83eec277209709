import { hash } from 'node:crypto'
import { rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { waitAfter } from '@tributary/domain/people/session-rules'
import { LRUCache } from 'lru-cache'

/** Wrong passwords and codes in a row, by the pair of account and address. */
export interface Guesses {
  /** Counts a try before its outcome is known, so that many at once are many. Throws `rate_limited` while the pair must wait. */
  spend(pair: string): void
  /** A completed sign-in ends the row. */
  forgive(pair: string): void
}

interface Row {
  failures: number
  free_at_ms: number
}

/**
 * Kept in the memory of a process, as a guess costs less than a row would. An account that does not exist is slowed like one
 * that does.
 */
export function openGuesses(now: () => number): Guesses {
  const rows = new LRUCache<string, Row>({ max: limits.sign_in_pairs_max })
  /** A pair is as long as a stranger likes: each takes the same memory. */
  const keyOf = (pair: string) => hash('sha256', pair, 'base64')
  return {
    spend(pair) {
      const now_ms = now()
      const key = keyOf(pair)
      const row = rows.get(key)
      // The clock has gone back: the wait begins now.
      if (row && row.free_at_ms - now_ms > limits.sign_in_wait_ms_max) row.free_at_ms = now_ms + waitAfter(row.failures)
      const wait_ms = (row?.free_at_ms ?? 0) - now_ms
      if (wait_ms > 0) throw rateLimited(wait_ms)
      const isOld = row !== undefined && now_ms - row.free_at_ms > limits.sign_in_pair_ms
      const failures = (isOld ? 0 : (row?.failures ?? 0)) + 1
      rows.set(key, { failures, free_at_ms: now_ms + waitAfter(failures) })
    },
    forgive: (pair) => void rows.delete(keyOf(pair)),
  }
}
