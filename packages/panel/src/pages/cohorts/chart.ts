import { day_ms } from '../../api/range.ts'
import type { Group } from './query.ts'

/** Steps of the colour: each differs from its neighbours. */
const steps = 7

/** The end of the period that begins with this day. */
function endOf(day: string, group: Group): number {
  const begin = new Date(`${day}T00:00:00Z`)
  if (group === 'month') return Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1, 1)
  return begin.getTime() + (group === 'week' ? 7 : 1) * day_ms
}

/** Whether day `n` has begun for any install of a cohort, and is over for all of them. */
export function maturityOf(
  day: string,
  group: Group,
  n: number,
  now_ms: number,
  until_ms: number,
): 'not yet' | 'immature' | 'mature' {
  const first_ms = Date.parse(`${day}T00:00:00Z`)
  const last_ms = Math.min(endOf(day, group), until_ms)
  if (first_ms + n * day_ms > now_ms) return 'not yet'
  return last_ms + (n + 1) * day_ms > now_ms ? 'immature' : 'mature'
}

/** The colour of a rate among those of the map; 0 is the palest. */
export const stepOf = (rate: number, most: number): number =>
  rate <= 0 || most <= 0 ? 0 : Math.min(steps - 1, 1 + Math.floor((rate / most) * (steps - 1.001)))
