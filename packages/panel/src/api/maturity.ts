import { day_ms } from './range.ts'

/** The period of a row; `none` is the whole window. */
export type Period = 'day' | 'week' | 'month' | 'none'

/** The end of the period that begins with this day, Unix epoch ms. */
export function endOf(day: string, period: Period): number {
  const begin = new Date(`${day}T00:00:00Z`)
  if (period === 'none') return Number.POSITIVE_INFINITY
  if (period === 'month') return Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1, 1)
  return begin.getTime() + (period === 'week' ? 7 : 1) * day_ms
}

/** Whether a period is not over: its figures are those until now. */
export const isOpen = (day: string, period: Period, now_ms: number): boolean => endOf(day, period) > now_ms

/** Whether day `n` has begun for any install of a period, and is over for all of them. */
export function maturityOf(
  day: string,
  period: Period,
  n: number,
  now_ms: number,
  until_ms: number,
): 'not yet' | 'immature' | 'mature' {
  const first_ms = Date.parse(`${day}T00:00:00Z`)
  const last_ms = Math.min(endOf(day, period), until_ms)
  if (first_ms + n * day_ms > now_ms) return 'not yet'
  return last_ms + (n + 1) * day_ms > now_ms ? 'immature' : 'mature'
}
