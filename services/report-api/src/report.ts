import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import type { ReportFilters } from '@tributary/contracts/report-parameters'
import { daysOf, type ReportMeta, type ReportName, type ReportRow } from '@tributary/contracts/reports'
import type { FxRates } from '@tributary/tenancy/fx-rates'
import type { CvSchemas } from '@tributary/tenancy/postbacks/cv-schemas'
import type { StoreApps } from '@tributary/tenancy/postbacks/store-apps'
import type { ReportPage, RequestedForm, RequestedRows } from './parameters.ts'

const minute_ms = 60_000

/** A request names the window, the page, and what the rows are of. */
export interface ReportRequest extends ReportPage, RequestedRows, RequestedForm {
  /** From the server key, never from the request. */
  app_id: string
  filters: ReportFilters
  /** false: nobody asks for distinct installs, and each row has 0. Only for the report `events`. */
  count_uniques?: false
}

/** The data that reports read. */
export interface ReportSources {
  clickhouse: Pick<Clickhouse, 'query'>
  fxRates: FxRates
  storeApps: Pick<StoreApps, 'find' | 'findOwner' | 'ownedItems'>
  cvSchemas: Pick<CvSchemas, 'find'>
}

interface ReportResult<Name extends ReportName> {
  rows: ReportRow<Name>[]
  /** Rows of all pages; 0 where `count_rows` is false. */
  all_rows: number
  /** Currencies with money in the window, on any page, that lack an exchange rate. */
  missing_rates: string[]
  /** An edge of the window was moved to the bound of its day: this is the window that the rows cover. */
  whole_days?: { since_ms: number; until_ms: number } | undefined
  /** Groups that nothing proves share a row, on some page. */
  groups_folded?: boolean
  /** Of all rows, on whatever page. */
  totals?: ReportMeta['totals']
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
  // To the minute: equal answers within it are the same answer to a cache.
  return last === undefined ? undefined : Math.floor(now_ms / minute_ms) * minute_ms - (last + 1) * day_ms
}

/**
 * SQL condition for the rows that pass the filters, with its parameters: `event_names` of the filter `event_name`. It reads the
 * column with the name of the filter, and is `1` without filters.
 */
export function filterSql(filters: ReportFilters): { passes: string; params: Record<string, string[]> } {
  const given = Object.entries(filters)
  return {
    passes: given.map(([field]) => `${field} IN {${field}s:Array(String)}`).join(' AND ') || '1',
    params: Object.fromEntries(given.map(([field, values]) => [`${field}s`, values])),
  }
}
