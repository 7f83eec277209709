import { day_ms } from '@tributary/contracts/limits'
import type { ReportGroup } from '@tributary/contracts/report-parameters'

/** Event times lie between 2010 and tomorrow; a Date of ClickHouse holds 1970 to 2149. */
const time_ms_max = Date.UTC(2100, 0, 1)

/** The last day that a Date of ClickHouse holds. */
export const end_of_days = '2149-06-06'

/** A window as whole UTC days, which settled figures and roll-ups answer, and at most two partly covered days. */
export interface WindowDays {
  since_ms: number
  until_ms: number
  /** First whole day. There is no whole day unless `whole_from` is smaller than `whole_to`, which is exclusive. */
  whole_from: string
  whole_to: string
  /** Days of the first and of the last millisecond. Only these two can be partly covered. */
  first_day: string
  last_day: string
  /** Those of the two that are partly covered. */
  edge_days: string[]
}

/** Null when no event can lie in the window. */
export function windowDays(window: { since_ms: number; until_ms: number }): WindowDays | null {
  const since_ms = Math.max(window.since_ms, 0)
  const until_ms = Math.min(window.until_ms, time_ms_max)
  if (since_ms >= until_ms) return null
  const [whole_from, whole_to] = [dayText(Math.ceil(since_ms / day_ms)), dayText(Math.floor(until_ms / day_ms))]
  const [first_day, last_day] = [dayText(Math.floor(since_ms / day_ms)), dayText(Math.floor((until_ms - 1) / day_ms))]
  const edge_days = [...new Set([first_day, last_day])].filter((day) => !(day >= whole_from && day < whole_to))
  return { since_ms, until_ms, whole_from, whole_to, first_day, last_day, edge_days }
}

/**
 * The window with an edge moved to the bound of its day where the raw events of that day have expired: sums by day are all that is
 * left of it (docs/privacy.md#retention). `expired_before` is the first day (`YYYY-MM-DD`) with raw events; null: all have them.
 */
export function withWholeDays(days: WindowDays, expired_before: string | null): WindowDays & { whole_days: boolean } {
  const isExpired = (day: string) => expired_before !== null && day < expired_before && days.edge_days.includes(day)
  const [first, last] = [isExpired(days.first_day), isExpired(days.last_day)]
  if (!first && !last) return { ...days, whole_days: false }
  const since_ms = first ? Date.parse(days.first_day) : days.since_ms
  const until_ms = last ? Date.parse(days.last_day) + day_ms : days.until_ms
  return { ...windowDays({ since_ms, until_ms })!, whole_days: true }
}

/** The window with both edges moved outward to midnight. */
export const wholeWindowOf = ({ since_ms, until_ms }: { since_ms: number; until_ms: number }) => ({
  since_ms: Math.floor(since_ms / day_ms) * day_ms,
  until_ms: Math.ceil(until_ms / day_ms) * day_ms,
})

const dayText = (number: number): string => new Date(number * day_ms).toISOString().slice(0, 10)

/** SQL conditions on the roll-ups and on the raw rows. Together they cover each moment of the window once. */
export const wholeDays = 'app_id = {app_id:String} AND day >= {whole_from:Date} AND day < {whole_to:Date}'
export const partlyCoveredDays = `app_id = {app_id:String} AND day IN {edge_days:Array(Date)}
    AND ts_ms >= {since_ms:Int64} AND ts_ms < {until_ms:Int64}`
/** SQL condition for the whole window, for small tables without a roll-up. */
export const wholeWindow = `app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date}
    AND ts_ms >= {since_ms:Int64} AND ts_ms < {until_ms:Int64}`

/** SQL of the first day of the period that a day is in. */
export const firstDayOf: Readonly<Record<ReportGroup, (day: string) => string>> = {
  day: (day) => day,
  week: (day) => `toMonday(${day})`,
  month: (day) => `toStartOfMonth(${day})`,
  none: () => 'toDate(0)',
}
