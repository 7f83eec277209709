import { z } from 'zod'
import {
  default_dimensions,
  exampleWindow,
  FormParameters,
  filterParameters,
  GroupingParameters,
  pageParameters,
  type ReportDimension,
  type ReportGroup,
  reportDimensions,
} from './report-parameters.ts'
import {
  AttributionReportRow,
  CohortsReportRow,
  CostsReportRow,
  cohortDays,
  type DayFields,
  EventsReportRow,
  LtvReportRow,
  ltvDays,
  PerformanceReportRow,
  PerformanceTotals,
  performanceDays,
  ReceiptsReportRow,
  RevenueReportRow,
  SkanReportRow,
} from './report-rows.ts'
import type { Route, Routes } from './routes/route.ts'

const { since_ms, until_ms } = exampleWindow

/** `meta` of every report answer; times in Unix epoch ms. */
export const ReportMeta = z.object({
  since_ms: z.number().int(),
  until_ms: z.number().int(),
  limit: z.number().int(),
  offset: z.number().int(),
  rows: z.number().int().describe('Rows of all pages.'),
  more: z.boolean().describe('Whether rows follow behind this page.'),
  elapsed_ms: z.number().int(),
  partial: z
    .object({ first: z.boolean(), last: z.boolean() })
    .optional()
    .describe(
      'Whether the window cuts its first and its last period: their rows count the covered part alone. Absent when it has whole periods, and without rows.',
    ),
  mature_until_ms: z
    .number()
    .int()
    .optional()
    .describe(
      'On cohorts, ltv and performance: the 24 hours of the largest number of days in the answer are over for installs before this time, to the minute. Figures of later installs may still grow.',
    ),
  missing_rates: z
    .array(z.string())
    .optional()
    .describe(
      'Currencies of the window with money but without an exchange rate: fields of money in USD lack it. Absent when there is none.',
    ),
  whole_days: z
    .literal(true)
    .optional()
    .describe(
      'Present where `since_ms` or `until_ms` lies inside a day whose raw events have expired, on costs inside any day: the answer has the whole of that day.',
    ),
  groups_folded: z
    .literal(true)
    .optional()
    .describe(
      'On skan: a day of the window has more than 1000 groups that no signature proves. Those beyond share rows with an empty `network` and `source`.',
    ),
  totals: PerformanceTotals.optional().describe(
    'On performance: the fields of all rows together, on whatever page, without `day` and dimensions.',
  ),
  hint: z
    .string()
    .optional()
    .describe('Present where the window looks as if it was given in seconds. Words for people; they may change.'),
})
export type ReportMeta = z.infer<typeof ReportMeta>

/** The answer of a report: a page of its rows. */
const pageOf = <Row extends z.ZodObject>(row: Row) => z.object({ rows: z.array(row), meta: ReportMeta })

export const AttributionReport = pageOf(AttributionReportRow)
export const RevenueReport = pageOf(RevenueReportRow)
export const CohortsReport = pageOf(CohortsReportRow)
export const EventsReport = pageOf(EventsReportRow)
export const LtvReport = pageOf(LtvReportRow)
export const SkanReport = pageOf(SkanReportRow)
export const CostsReport = pageOf(CostsReportRow)
export const PerformanceReport = pageOf(PerformanceReportRow)
export const ReceiptsReport = pageOf(ReceiptsReportRow)
export type EventsReport = z.infer<typeof EventsReport>

interface ReportDeclaration {
  summary: string
  /** What its rows count, and their order. */
  description: string
  /** A filter is allowed if the row has a field of its name. */
  row: z.ZodObject
  /** Present where rows have fields of days since the install; the request may name the days. */
  days?: DayFields
  /** Filters by what rows do not show. */
  filters?: readonly (keyof typeof filterParameters)[]
  /** The request says what rows are of (`by`), and their order. */
  grouped?: true
  /** `pageOf` the row, under its name in the document. */
  page: Record<string, z.ZodType>
  example: object
}

/** Filters by the newest verdict of an install, for rows without such a field. */
const of_verdicts = ['partner', 'campaign', 'country', 'link_id'] as const

/** Every report that can be requested; other names answer `unknown_report`. */
export const reports = {
  attribution: {
    summary: 'Installs by day, partner and attribution type',
    description:
      'Installs of the app by their newest verdict; an install that waits for a click is in no row. The window is of install times. Rows are ordered by day, then partner, then attribution type.',
    row: AttributionReportRow,
    page: { AttributionReport },
    example: {
      ...{ day: '2026-06-01', partner: 'acme', attribution_type: 'install_referrer' },
      ...{ installs: 240, organic: 0, reinstalls: 12, fraud_flagged: 3 },
    },
  },
  revenue: {
    summary: 'Money by day and partner',
    description:
      'Money events of the app by the newest verdict of their install. The window is of event times. Rows are ordered by day, then partner.',
    row: RevenueReportRow,
    filters: of_verdicts,
    page: { RevenueReport },
    example: { day: '2026-06-01', partner: 'acme', purchases: 31, revenue_usd: 154.69, arppu_usd: 6.7257 },
  },
  cohorts: {
    summary: 'Retention by day of install',
    description:
      'Installs of the app that came back 1, 7 and 30 days after their install. Day N is the 24 hours that begin N x 24 hours after the install, not a calendar day: who installs at 20:00 and comes back at 09:00 the next morning was there on day 0 alone. The window is of install times. Events of an app are corrected by the clock of its phone when it sent them, as install times are. A rate is too low while the 24 hours that it counts are not over for every install of the row. Rows are ordered by day.',
    row: CohortsReportRow,
    filters: of_verdicts,
    days: cohortDays,
    page: { CohortsReport },
    example: {
      ...{ day: '2026-06-01', installs: 480, d1: 192, d7: 81, d30: 29 },
      ...{ d1_rate: 0.4, d7_rate: 0.1688, d30_rate: 0.0604 },
    },
  },
  events: {
    summary: 'Events by day and name',
    description: 'All accepted events of the app. Rows are ordered by day, then by event name.',
    row: EventsReportRow,
    page: { EventsReport },
    example: { day: '2026-06-01', event_name: 'purchase', events: 120, unique_installs: 97, revenue_usd: 598.8 },
  },
  ltv: {
    summary: 'Lifetime value by day of install and partner',
    description:
      'Money that the installs of a day brought since their install. The window is of install times. Money of an app is corrected by the clock of its phone when it sent it, as install times are; money from before the install is left out. Installs count as in the report `cohorts`, by the partner of their newest verdict. Rows are ordered by day, then partner.',
    row: LtvReportRow,
    filters: of_verdicts,
    days: ltvDays,
    page: { LtvReport },
    example: {
      ...{ day: '2026-06-01', partner: 'acme', installs: 240, revenue_usd: 842.1 },
      ...{ d0_revenue_usd: 96, d7_revenue_usd: 410.4, d30_revenue_usd: 842.1 },
      ...{ d0_arpi_usd: 0.4, d7_arpi_usd: 1.71, d30_arpi_usd: 3.5088 },
    },
  },
  costs: {
    summary: 'Costs of ads by day, partner, campaign, ad group and country',
    description:
      'What was uploaded, by `PUT /api/v1/costs`. Costs are of days, so the window takes each day that it touches whole. Of a week or month the rows are of one currency each. Rows are ordered by day, then partner, campaign, ad group, country and currency.',
    row: CostsReportRow,
    page: { CostsReport },
    example: {
      ...{ day: '2026-06-01', partner: 'acme', campaign: 'spring', ad_group: '', country: 'DE' },
      ...{ cost: 120.5, currency: 'EUR', cost_usd: 130.0798, clicks: 410, impressions: null },
      uploaded_at_ms: Date.UTC(2026, 5, 2, 6),
    },
  },
  performance: {
    summary: 'What campaigns brought and cost',
    description:
      'Installs of the app by what brought them, what they brought until now, and the clicks and costs of the same period. The window is of install times, and takes each day that it touches whole: `meta` shows it so. Rows are ordered by day, then by the dimensions, unless `sort` says otherwise. More than 100 000 rows on all pages are refused.',
    row: PerformanceReportRow,
    days: performanceDays,
    grouped: true,
    page: { PerformanceReport },
    example: {
      ...{ day: '2026-06-01', partner: 'acme', campaign: 'spring', clicks: 4100, installs: 240, reinstalls: 12 },
      ...{ fraud_flagged: 3, purchases: 61, payers: 40, revenue_usd: 305.39, cost_usd: 210.5, cpi_usd: 0.8771 },
      roas: 1.4508,
    },
  },
  receipts: {
    summary: 'Receipts of the stores by day, store, verdict and reason',
    description:
      'Events with a receipt by their newest verdict; events that a store sent itself are `valid`. An event whose receipt nobody has judged yet is in no row. The window is of event times. Rows are ordered by day, then store, verdict and reason; null comes first.',
    row: ReceiptsReportRow,
    page: { ReceiptsReport },
    example: {
      ...{ day: '2026-06-01', store: 'apple', verdict: 'valid', reason: 'reused', events: 3 },
      ...{ revenue_told_usd: 14.97, revenue_counted_usd: 0 },
    },
  },
  skan: {
    summary: 'Postbacks of Apple by day, network and source',
    description:
      'SKAdNetwork and AdAttributionKit postbacks of the app, by its store id. They are aggregates without any device, so they are in no other report, and no row of another report may be added to them. The window is of the times of receipt. Rows are ordered by day, then protocol, network, source and sequence index.',
    row: SkanReportRow,
    page: { SkanReport },
    example: {
      ...{ day: '2026-06-01', protocol: 'skan', network: 'example123.skadnetwork', source: '5239', sequence_index: 0 },
      ...{ postbacks: 40, installs: 35, redownloads: 5, cv_null: 12, fine: { 12: 20, 31: 6 } },
      ...{ coarse_low: 2, coarse_medium: 0, coarse_high: 0, revenue_min_usd: 119.94, revenue_max_usd: 260 },
      ...{ unverified: 1, schema_version: 3, schema_ambiguous: false },
    },
  },
} as const satisfies Record<string, ReportDeclaration>
export type ReportName = keyof typeof reports
/** A row, with its fields of each day in the answer. */
export type ReportRow<Name extends ReportName> = Flat<z.infer<(typeof reports)[Name]['row']> & DayColumns<Name>>
type DayColumns<Name extends ReportName> = (typeof reports)[Name] extends { days: { fields: infer Fields } }
  ? {
      [Suffix in keyof Fields & string as `d${number}${Suffix}`]: Fields[Suffix] extends (
        n: never,
      ) => z.ZodType<infer Value>
        ? Value
        : never
    }
  : unknown
type Flat<Row> = { [Field in keyof Row]: Row[Field] }
export const reportNames = Object.keys(reports) as ReportName[]

const daysDeclared = (name: ReportName): DayFields | undefined => {
  const declared: ReportDeclaration = reports[name]
  return declared.days
}

/** The numbers of days since the install that an answer has fields of, ascending; none if the report has no such fields. */
export function daysOf(name: ReportName, requested?: readonly number[]): number[] {
  const declared = daysDeclared(name)
  if (declared === undefined) return []
  return [...new Set([...declared.always, ...(requested ?? declared.default)])].toSorted((a, b) => a - b)
}

/** The parameters of a request that decide on the fields of its rows. */
export interface RequestedFields {
  days?: readonly number[] | undefined
  by?: readonly ReportDimension[] | undefined
  group?: ReportGroup | undefined
}

/** The fields of a row in their order. */
export function columnsOf(name: ReportName, { days, by, group }: RequestedFields = {}): string[] {
  const fixed = Object.keys(reports[name].row.shape).filter((field) => !/^d\d/.test(field))
  const numbers = daysOf(name, days)
  const declared = daysDeclared(name)
  const suffixes = Object.keys(declared?.fields ?? {})
  const of_days = declared?.day_by_day
    ? numbers.flatMap((n) => suffixes.map((suffix) => `d${n}${suffix}`))
    : suffixes.flatMap((suffix) => numbers.map((n) => `d${n}${suffix}`))
  return [...(isGrouped(name) ? groupedColumns(fixed, by, group) : fixed), ...of_days]
}

/** Dimensions stand in the order of `by`. */
function groupedColumns(
  fixed: readonly string[],
  by: readonly ReportDimension[] = default_dimensions,
  group?: ReportGroup,
): string[] {
  const keys = new Set<string>(['day', ...reportDimensions])
  return [...(group === 'none' ? [] : ['day']), ...by, ...fixed.filter((field) => !keys.has(field))]
}

/** True where a request names the dimensions of the rows. */
export function isGrouped(name: ReportName): boolean {
  const declared: ReportDeclaration = reports[name]
  return declared.grouped === true
}

/** The filters of a report: those whose field its rows have, and those that it declares. */
export function filtersOf(name: ReportName): Partial<typeof filterParameters> {
  const { row, filters = [] }: ReportDeclaration = reports[name]
  const names: readonly string[] = [...Object.keys(row.shape), ...filters]
  return Object.fromEntries(Object.entries(filterParameters).filter(([filter]) => names.includes(filter)))
}

const { group, days, format } = FormParameters.shape

/** All query parameters of a report; any other is `unknown_parameter`. */
export const parametersOf = (name: ReportName): z.ZodObject =>
  z.object({
    ...pageParameters,
    ...filtersOf(name),
    ...(isGrouped(name) ? { by: GroupingParameters.shape.by } : {}),
    group: isGrouped(name) ? GroupingParameters.shape.group : group,
    ...(daysDeclared(name) === undefined ? {} : { days }),
    ...(isGrouped(name) ? { sort: GroupingParameters.shape.sort } : {}),
    format,
  })

/** The path of the one route that answers all reports; each has an operation of its own in the document. */
export const report_path = '/api/v1/reports/:report'

const knownTag = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .describe('`ETag` of an earlier answer. If the rows are still the same, the answer is 304 without them.'),
})

function reportRoute(name: ReportName): Route {
  const { summary, description, page, example } = reports[name]
  return {
    method: 'GET',
    path: `/api/v1/reports/${name}`,
    served_at: report_path,
    auth: 'reports',
    tag: 'Reports',
    summary,
    description: `${description} Days are UTC and without rows where nothing happened; the window is exact to the millisecond. The app is that of the key.`,
    query: parametersOf(name),
    headers: knownTag,
    answers: {
      200: {
        schema: page,
        form: 'json or csv',
        description:
          'A page of rows; as CSV (RFC 4180, with a header line) all rows if the request has no `limit`. A connection that ends with a fault means that rows are missing.',
        example: {
          rows: [example],
          meta: { since_ms, until_ms, limit: 100, offset: 0, rows: 1, more: false, elapsed_ms: 12 },
        },
      },
      304: { description: 'The answer is the one of `If-None-Match`.' },
    },
    errors: [
      'unknown_report',
      'unknown_parameter',
      'invalid_since_until',
      'since_ms_must_be_less_than_until_ms',
      'window_too_large',
      'invalid_limit',
      'invalid_offset',
      'invalid_field',
      ...(isGrouped(name) ? (['too_many_rows'] as const) : []),
    ],
  }
}

/** The operation of each report: `eventsReport` of `events`. */
export const reportRoutes: Routes = Object.fromEntries(reportNames.map((name) => [`${name}Report`, reportRoute(name)]))
