import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import {
  daysOf,
  type ReportFilters,
  type ReportGroup,
  type ReportName,
  type ReportRow,
} from '@tributary/contracts/reports'
import type { FxRates } from '@tributary/tenancy/fx-rates'
import type { ReportPage } from './parameters.ts'

/** What a report answers: the window, the page, and what its rows are of. */
export interface ReportRequest extends ReportPage {
  /** From the server key, never from the request. */
  app_id: string
  filters: ReportFilters
  group: ReportGroup
  /** Days since the install, in any order; absent without the parameter. */
  days?: readonly number[] | undefined
}

/** The data that reports read. */
export interface ReportSources {
  clickhouse: Pick<Clickhouse, 'query'>
  fxRates: FxRates
}

interface ReportResult<Name extends ReportName> {
  rows: ReportRow<Name>[]
  /** Currencies with money in the window, on any page, that lack an exchange rate. */
  missing_rates: string[]
}

/** A report is a function that gives a page of rows, in the order of docs/rules.md#order-of-report-rows. */
export type Report<Name extends ReportName> = (
  sources: ReportSources,
  request: ReportRequest,
) => Promise<ReportResult<Name>>

/**
 * `meta.mature_until_ms` of docs/rules.md#days-since-the-install: the 24 hours of the last day in the answer are over for
 * installs before it. Undefined if the rows have no such days.
 */
export function matureUntil(name: ReportName, days: readonly number[] | undefined, now_ms: number): number | undefined {
  const last = daysOf(name, days).at(-1)
  return last === undefined ? undefined : now_ms - (last + 1) * day_ms
}

/** SQL of the first day of the period that a day is in. */
export const firstDayOf: Readonly<Record<ReportGroup, (day: string) => string>> = {
  day: (day) => day,
  week: (day) => `toMonday(${day})`,
  month: (day) => `toStartOfMonth(${day})`,
}

/** Event times lie between 2010 and tomorrow; a Date of ClickHouse holds 1970 to 2149. */
const time_ms_max = Date.UTC(2100, 0, 1)

/** A window as whole UTC days, which roll-ups answer, and at most two partly covered days, which raw rows answer. */
export interface WindowDays {
  since_ms: number
  until_ms: number
  /** First whole day. There is no whole day unless `whole_from` is smaller than `whole_to`, which is exclusive. */
  whole_from: string
  whole_to: string
  /** Days of the first and of the last millisecond. Only these two can be partly covered. */
  first_day: string
  last_day: string
}

/** Null when no event can lie in the window. */
export function windowDays(window: { since_ms: number; until_ms: number }): WindowDays | null {
  const since_ms = Math.max(window.since_ms, 0)
  const until_ms = Math.min(window.until_ms, time_ms_max)
  if (since_ms >= until_ms) return null
  return {
    since_ms,
    until_ms,
    whole_from: dayText(Math.ceil(since_ms / day_ms)),
    whole_to: dayText(Math.floor(until_ms / day_ms)),
    first_day: dayText(Math.floor(since_ms / day_ms)),
    last_day: dayText(Math.floor((until_ms - 1) / day_ms)),
  }
}

const dayText = (number: number): string => new Date(number * day_ms).toISOString().slice(0, 10)

/** SQL conditions on the roll-ups and on the raw rows. Together they cover each moment of the window once. */
export const wholeDays = 'app_id = {app_id:String} AND day >= {whole_from:Date} AND day < {whole_to:Date}'
export const partlyCoveredDays = `app_id = {app_id:String} AND day IN ({first_day:Date}, {last_day:Date})
    AND NOT (day >= {whole_from:Date} AND day < {whole_to:Date})
    AND ts_ms >= {since_ms:Int64} AND ts_ms < {until_ms:Int64}`
/** SQL condition for the whole window, for small tables without a roll-up. */
export const wholeWindow = `app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date}
    AND ts_ms >= {since_ms:Int64} AND ts_ms < {until_ms:Int64}`
/** The same for installs, by the time of the install. */
export const installsInWindow = `app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date}
    AND installed_at_ms >= {since_ms:Int64} AND installed_at_ms < {until_ms:Int64}`
