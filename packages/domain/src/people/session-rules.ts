import { limits } from '@tributary/contracts/limits'

/** The times of a session, Unix epoch ms. */
export interface SessionTimes {
  complete: boolean
  began_at_ms: number
  seen_at_ms: number
  /** When the password was last given. */
  proven_at_ms: number
}

/**
 * Whether a session has ended by itself: it was idle too long, or is too old. A session that waits for its second
 * factor lasts minutes.
 */
export function hasEnded({ complete, began_at_ms, seen_at_ms }: SessionTimes, now_ms: number): boolean {
  if (!complete) return now_ms - began_at_ms >= limits.session_pending_ms_max
  return now_ms - seen_at_ms >= limits.session_idle_ms_max || now_ms - began_at_ms >= limits.session_ms_max
}

/**
 * Until when keys are minted without the password; 0 where it was given at a time that lies ahead, by a clock that was wrong.
 * Clocks of processes may differ by a minute.
 */
export const freshUntil = ({ proven_at_ms }: SessionTimes, now_ms: number): number =>
  proven_at_ms - now_ms > limits.clocks_differ_ms_max ? 0 : proven_at_ms + limits.session_fresh_ms

/** Wait after so many failures in a row; 0 while they are few, then twice as long each time. */
export function waitAfter(failures: number): number {
  const slow = failures - limits.sign_in_failures_free
  if (slow < 0) return 0
  return Math.min(limits.sign_in_wait_ms * 2 ** Math.min(slow, 30), limits.sign_in_wait_ms_max)
}
