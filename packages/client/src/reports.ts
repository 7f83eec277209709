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
  /** Rows of all pages. */
  rows: number
  /** Rows follow behind this page. */
  more: boolean
  /** The window cuts its first or its last period, whose rows count the covered part alone. */
  partial?: { first: boolean; last: boolean } | undefined
  /** The window looks as if it was given in seconds. */
  hint?: string | undefined
  /** On cohorts, ltv and performance: the last days of the answer are over for installs before this time. */
  mature_until_ms?: number | undefined
  /** Currencies with money in the window but no exchange rate. `revenue_usd` lacks that money. */
  missing_rates?: string[] | undefined
  /** An edge of the window lies in a day whose raw events have expired: the answer has the whole day. */
  whole_days?: true | undefined
  /** On skan: a day has more than 1000 groups that no signature proves. Those beyond share rows with an empty network and source. */
  groups_folded?: true | undefined
  /** On performance: the fields of all rows together, on whatever page, without `day` and dimensions. */
  totals?: PerformanceTotals | undefined
}

export interface PerformanceTotals {
  clicks: number | null
  installs: number
  reinstalls: number
  fraud_flagged: number
  purchases: number
  payers: number
  revenue_usd: number
  cost_usd: number | null
  cpi_usd: number | null
  roas: number | null
  /** Those of days since the install, such as `d7_roas`. */
  [field: string]: number | null
}

/** Dimensions that rows of the report `performance` can have. */
export type ReportDimension =
  | ('partner' | 'campaign' | 'ad_group' | 'creative' | 'link_id')
  | ('sub1' | 'sub2' | 'sub3' | 'sub4' | 'sub5' | 'country' | 'attribution_type')

export interface ReportParams {
  /** Inclusive start of the window. Default: 30 days ago. */
  since_ms?: number | undefined
  /** Exclusive end of the window. Default: now. */
  until_ms?: number | undefined
  /** Rows of a page, 1 to 1000. */
  limit?: number | undefined
  offset?: number | undefined
  /**
   * Period of a row. Default: `day`. A week begins on Monday; `day` of a row is the first day of its period. `none`, only for the report
   * `performance`: the whole window.
   */
  group?: 'day' | 'week' | 'month' | 'none' | undefined
  /** Dimensions of the rows, besides the period: up to 5. Default: partner and campaign. Only for the report `performance`. */
  by?: readonly ReportDimension[] | undefined
  /** Field of the row to order by, with `-` from the greatest down. Only for the report `performance`. */
  sort?: string | undefined
  /** Days since the install that rows have fields of, at most 10 of 0 to 365. Only for the reports `cohorts`, `ltv` and `performance`. */
  days?: readonly number[] | undefined
  /** Only rows with these event names, at most 100 names. Only for the report `events`. */
  event_name?: string | readonly string[] | undefined
  /** Only rows of these partners, at most 100. Not for `events`, `receipts` and `skan`. */
  partner?: string | readonly string[] | undefined
  /** Only rows of these campaigns, at most 100; an empty text: rows that name none. Not for `attribution`, `events`, `receipts` and `skan`. */
  campaign?: string | readonly string[] | undefined
  /** The same for ad groups. Only for the reports `costs` and `performance`. */
  ad_group?: string | readonly string[] | undefined
  /** The same for countries, such as `DE`. */
  country?: string | readonly string[] | undefined
  /** The same for ids of tracking links. Only for the reports `revenue`, `cohorts`, `ltv` and `performance`. */
  link_id?: string | readonly string[] | undefined
  /** The same for creatives and subs of clicks. Only for the report `performance`. */
  creative?: string | readonly string[] | undefined
  sub1?: string | readonly string[] | undefined
  sub2?: string | readonly string[] | undefined
  sub3?: string | readonly string[] | undefined
  sub4?: string | readonly string[] | undefined
  sub5?: string | readonly string[] | undefined
  /** Only rows of these attribution types, such as `install_referrer` or `organic`. Only for the reports `attribution` and `performance`. */
  attribution_type?: string | readonly string[] | undefined
  /** Only rows of these stores, such as `apple`; an empty text: rows that name none. Only for the report `receipts`. */
  store?: string | readonly string[] | undefined
  /** Only rows of these verdicts, such as `valid`. Only for the report `receipts`. */
  verdict?: string | readonly string[] | undefined
  /** Only rows of these reasons, such as `reused`; an empty text: rows without one. Only for the report `receipts`. */
  reason?: string | readonly string[] | undefined
}

/** A report as a CSV file (RFC 4180) with a header line. */
export interface ReportCsv {
  /** Pieces of the file. Reading throws TributaryError `unavailable` if the file ends too early: drop it then. */
  text: AsyncGenerator<string>
  /** Currencies with money in the window but no exchange rate. */
  missing_rates: string[]
}
