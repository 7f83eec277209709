import type { DaysOfApp } from './days-of-app.ts'

/**
 * Days whose money has grown since it was settled (docs/decisions/money.md#late-money-is-added-to-a-settled-day), as SQL: nothing happened
 * to them but that money events came. The two lists have the same length.
 */
export interface GrownDays {
  /** A string. */
  app_id: string
  /** Array(Date). */
  days: string
  /** Array(Int64): when the last event that the settled money counts was received, Unix epoch ms. */
  last_ms: string
}

/** SQL condition for the money events that settled money counts. It holds for no event of another day. */
export const isCounted = ({ days, last_ms }: Omit<GrownDays, 'app_id'>): string =>
  `(received_at_ms <= transform(day, ${days}, ${last_ms}, toInt64(-1)))`

/** The money events that came since those days were settled. */
export const cameSince = (grown: GrownDays): DaysOfApp => ({
  app_id: grown.app_id,
  days: grown.days,
  moments: `NOT ${isCounted(grown)}`,
})
