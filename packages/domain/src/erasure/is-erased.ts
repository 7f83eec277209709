/** The times of an event that decide whether an erasure covers it, Unix epoch ms. */
export interface EventTimes {
  received_at_ms: number
  /** The time of the event as its sender gave it. */
  event_ts_ms?: unknown
  /** The client's clock when it sent the event. */
  sent_at_ms?: number | undefined
}

/**
 * Whether an erasure with this mark covers an event of its install (docs/rules.md#erased-installs): the event was received
 * up to the mark, or it is dated up to the mark. `mark_ms` is null without an erasure.
 */
export const isErased = (event: EventTimes, mark_ms: number | null): boolean =>
  mark_ms !== null && (event.received_at_ms <= mark_ms || datedAt(event) <= mark_ms)

/**
 * The date of an event, Unix epoch ms: its own time, else the time when the client sent it, else the time of receipt.
 */
export const datedAt = ({ received_at_ms, event_ts_ms, sent_at_ms }: EventTimes): number =>
  timeOf(event_ts_ms) ?? timeOf(sent_at_ms) ?? received_at_ms

/** A client may send anything: a value that is no time counts as absent. */
const timeOf = (value: unknown): number | undefined => (typeof value === 'number' && value > 0 ? value : undefined)
