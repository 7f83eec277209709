import { day_ms } from '@tributary/contracts/limits'
import type { ReportGroup } from '@tributary/contracts/report-parameters'
import { windowDays } from '../window-days.ts'

interface Window {
  since_ms: number
  until_ms: number
}

/** Which periods of a window it cuts, its first or its last one; undefined where it has whole periods alone. */
export function partialPeriods(window: Window, group: ReportGroup): { first: boolean; last: boolean } | undefined {
  const within = windowDays(window)
  if (within === null) return undefined
  if (group === 'none') return undefined
  const isBound = (ms: number) => ms === periodStart(ms, group)
  const cut = { first: !isBound(within.since_ms), last: !isBound(within.until_ms) }
  return cut.first || cut.last ? cut : undefined
}

/** 5 January 1970 was a Monday. */
const monday_ms = 4 * day_ms

function periodStart(ms: number, group: ReportGroup): number {
  const day = new Date(ms)
  if (group === 'month') return Date.UTC(day.getUTCFullYear(), day.getUTCMonth())
  const [length, from] = group === 'week' ? [7 * day_ms, monday_ms] : [day_ms, 0]
  return Math.floor((ms - from) / length) * length + from
}
