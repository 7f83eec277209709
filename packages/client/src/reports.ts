import type { ReportRows } from './report-rows.ts'

export type { ReportRows }

export type ReportName = keyof ReportRows

/** One page of a report. Times are Unix epoch ms. */
export interface Report<N extends ReportName> {
  rows: ReportRows[N][]
  meta: ReportMeta
}
export interface ReportMeta {
  since_ms: number
  until_ms: number
  limit: number
  offset: number
  elapsed_ms: number
  /** On cohorts and ltv: the last days of the answer are over for installs before this time. */
  mature_until_ms?: number | undefined
  /** Currencies with money in the window but no exchange rate. `revenue_usd` lacks that money. */
  missing_rates?: string[] | undefined
}

export interface ReportParams {
  /** Inclusive start of the window. Default: 30 days ago. */
  since_ms?: number | undefined
  /** Exclusive end of the window. Default: now. */
  until_ms?: number | undefined
  /** Rows of a page, 1 to 1000. */
  limit?: number | undefined
  offset?: number | undefined
  /** Only rows with these event names, at most 100 names. Only for the report `events`. */
  event_name?: string | readonly string[] | undefined
  /** Only rows of these partners, at most 100. Only for the reports `attribution` and `revenue`. */
  partner?: string | readonly string[] | undefined
  /** Only rows of these attribution types, such as `install_referrer` or `organic`. Only for the report `attribution`. */
  attribution_type?: string | readonly string[] | undefined
}
