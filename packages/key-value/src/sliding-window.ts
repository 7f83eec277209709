import type { WindowHit } from './key-value.ts'

/** The hits of one key that can still matter, oldest first, Unix epoch ms. At most as many as the limit allows. */
export interface SlidingWindow {
  hits: number[]
}

export interface WindowStep extends WindowHit {
  /** When every hit of the window has left it. */
  expires_at_ms: number
}

/**
 * Allows `limit` hits at most in a half-open window `[t, t + window_ms)`. A log of the allowed hits is exact where buckets
 * are not, and its length is bounded by the limit, since refused hits are not logged. Hits in the future are forgotten: the
 * clock that wrote them was ahead, and they would refuse everything until it is reached again (docs/clocks.md).
 */
export function hitSlidingWindow(window: SlidingWindow, limit: number, window_ms: number, now_ms: number): WindowStep {
  const { hits } = window
  while (hits.length > 0 && hits.at(-1)! > now_ms) hits.pop()
  const gone = hits.findIndex((hit) => hit > now_ms - window_ms)
  hits.splice(0, gone === -1 ? hits.length : gone)
  const allowed = hits.length < limit
  if (allowed) hits.push(now_ms)
  return {
    allowed,
    remaining: Math.max(0, limit - hits.length),
    retry_after_ms: retryAfter(hits, limit, window_ms, now_ms),
    expires_at_ms: (hits.at(-1) ?? now_ms) + window_ms,
  }
}

/** One more hit is allowed when fewer than `limit` are left: when the limit-th newest has gone. */
function retryAfter(hits: readonly number[], limit: number, window_ms: number, now_ms: number): number {
  if (hits.length < limit) return 0
  const blocking = hits.at(-limit)
  return limit <= 0 || blocking === undefined ? window_ms : blocking + window_ms - now_ms
}
