/** The row of each report (docs/rules.md#report-rows). `day` is a UTC date `YYYY-MM-DD`, rates are between 0 and 1. */
export interface ReportRows {
  attribution: {
    day: string
    partner: string
    attribution_type: string
    installs: number
    organic: number
    reinstalls: number
    fraud_flagged: number
  }
  revenue: { day: string; partner: string; purchases: number; revenue_usd: number; arppu_usd: number }
  cohorts: {
    day: string
    installs: number
    d1: number
    d7: number
    d30: number
    d1_rate: number
    d7_rate: number
    d30_rate: number
  }
  events: { day: string; event_name: string; events: number; unique_installs: number; revenue_usd: number }
}
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
}
