import type { DaysOfApp } from './days-of-app.ts'

/**
 * SQL for days whose money has grown since it was settled (docs/adr/0390): only money events came. `days` and `last_ms` are lists
 * of the same length: Array(Date), and Array(Int64) of when the last event was received that the settled money counts.
 */
export interface GrownDays {
  /** A string. */
  app_id: string
  days: string
  last_ms: string
}

/** SQL condition for the money events that settled money counts: of other days none. */
export const isCounted = ({ days, last_ms }: Omit<GrownDays, 'app_id'>): string =>
  `(received_at_ms <= transform(day, ${days}, ${last_ms}, toInt64(-1)))`

/** The money events that came since. */
export const cameSince = (grown: GrownDays): DaysOfApp => ({
  app_id: grown.app_id,
  days: grown.days,
  moments: `NOT ${isCounted(grown)}`,
})
