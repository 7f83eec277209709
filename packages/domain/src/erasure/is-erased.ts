/** The times of an event that decide whether an erasure covers it, Unix epoch ms. */
export interface EventTimes {
  received_at_ms: number
  /** The time of the event as its sender gave it. */
  event_ts_ms?: number
  /** The client's clock when it sent the event. */
  sent_at_ms?: number
}

/**
 * Whether an erasure with this mark covers an event of its install (docs/rules.md#erased-installs): the event was received
 * up to the mark, or it is dated up to the mark. `mark_ms` is null without an erasure.
 */
export function isErased({ received_at_ms, event_ts_ms, sent_at_ms }: EventTimes, mark_ms: number | null): boolean {
  if (mark_ms === null) return false
  return received_at_ms <= mark_ms || (event_ts_ms ?? positive(sent_at_ms) ?? received_at_ms) <= mark_ms
}

/** The client's clock: anything may stand there, and what is no time is absent. */
const positive = (ms: number | undefined): number | undefined => (ms !== undefined && ms > 0 ? ms : undefined)
