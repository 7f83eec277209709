import { day_ms } from '@tributary/contracts/limits'

// Neighbours in a log are most often of one day, and writing a date costs more than hashing a key.
let last = { day: Number.NaN, text: '' }

/** UTC date of a time, `YYYY-MM-DD`. */
export function utcDay(ms: number): string {
  const day = Math.floor(ms / day_ms)
  if (day !== last.day) last = { day, text: new Date(ms).toISOString().slice(0, 10) }
  return last.text
}
