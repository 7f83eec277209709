import { day_ms } from '@tributary/contracts/limits'

// Neighbours in a log usually have the same day, and formatting a date costs more than hashing a key.
let last = { day: Number.NaN, text: '' }

/** UTC date of a time, `YYYY-MM-DD`. */
export function utcDay(ms: number): string {
  const day = Math.floor(ms / day_ms)
  if (day !== last.day) last = { day, text: new Date(ms).toISOString().slice(0, 10) }
  return last.text
}
