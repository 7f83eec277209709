import { day_ms } from '@tributary/contracts/limits'

/** The UTC day `n` days after a day, both `YYYY-MM-DD`. */
export const addDays = (day: string, n: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + n * day_ms).toISOString().slice(0, 10)

/** The UTC days from `from` on, ascending; `to` is exclusive. All are `YYYY-MM-DD`. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = []
  for (let day = from; day < to; day = addDays(day, 1)) days.push(day)
  return days
}
