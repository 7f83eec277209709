import { z } from 'zod'
import { limits } from './limits.ts'
import type { Route, Routes } from './routes/route.ts'

const since_ms = Date.UTC(2026, 5, 1)
const until_ms = Date.UTC(2026, 6, 1)

/** The query parameters of every report. */
const pageParameters = {
  since_ms: z.number().int().optional().meta({
    description: 'Inclusive start of the window, Unix epoch ms. 30 days ago by default.',
    example: since_ms,
  }),
  until_ms: z.number().int().optional().meta({
    description: 'Exclusive end of the window, Unix epoch ms. Now by default; at most 365 days after its start.',
    example: until_ms,
  }),
  limit: z
    .number()
    .int()
    .min(1)
    .max(limits.report_limit_max)
    .default(limits.report_limit_default)
    .describe('Rows of a page.'),
  offset: z.number().int().min(0).default(0).describe('Rows before the page.'),
}

/** A filter keeps the rows whose field of the same name has one of its values. */
const filterParameters = {
  event_name: z
    .array(z.string().min(1).max(limits.event_name_chars_max))
    .max(limits.report_filter_values_max)
    .optional()
    .describe('Only rows of this event name. May be repeated.'),
}
type FilterName = keyof typeof filterParameters

/** `meta` of every report answer; times in Unix epoch ms. */
export const ReportMeta = z.object({
  since_ms: z.number().int(),
  until_ms: z.number().int(),
  limit: z.number().int(),
  offset: z.number().int(),
  elapsed_ms: z.number().int(),
  missing_rates: z
    .array(z.string())
    .optional()
    .describe(
      'Currencies of the window with money but without an exchange rate: `revenue_usd` lacks that money. Absent when there is none.',
    ),
})
export type ReportMeta = z.infer<typeof ReportMeta>

/** The answer of a report: a page of its rows. */
const pageOf = <Row extends z.ZodObject>(row: Row) => z.object({ rows: z.array(row), meta: ReportMeta })

const EventsReportRow = z.object({
  day: z.iso.date().describe('UTC.'),
  event_name: z.string(),
  events: z.number().int().describe('Accepted events, duplicates left out.'),
  unique_installs: z.number().int().describe('Different installs among them.'),
  revenue_usd: z
    .number()
    .describe('Counted money, refunds subtracted, at the exchange rate of its day; 0 without any.'),
})

export const EventsReport = pageOf(EventsReportRow)
export type EventsReport = z.infer<typeof EventsReport>

interface ReportDeclaration {
  summary: string
  /** Tells what its rows count, and their order. */
  description: string
  /** Its fields with the name of a filter can be filtered by. */
  row: z.ZodObject
  /** `pageOf` the row, under its name in the document. */
  page: Record<string, z.ZodType>
  example: object
}

/** Every report that can be requested; other names answer `unknown_report`. */
export const reports = {
  events: {
    summary: 'Events by day and name',
    description: 'All accepted events of the app. Rows are ordered by day, then by event name.',
    row: EventsReportRow,
    page: { EventsReport },
    example: { day: '2026-06-01', event_name: 'purchase', events: 120, unique_installs: 97, revenue_usd: 598.8 },
  },
} as const satisfies Record<string, ReportDeclaration>
export type ReportName = keyof typeof reports
export type ReportRow<Name extends ReportName> = z.infer<(typeof reports)[Name]['row']>
export const reportNames = Object.keys(reports) as ReportName[]

/** The filters of a report: those whose field its rows have. */
export const filtersOf = (name: ReportName): Partial<typeof filterParameters> =>
  Object.fromEntries(Object.entries(filterParameters).filter(([filter]) => filter in reports[name].row.shape))

/** The values of each filter in the request. A row passes if its field has one of them. */
export type ReportFilters = { [Name in FilterName]?: string[] }

/** All query parameters of a report; any other is `unknown_parameter`. */
export const parametersOf = (name: ReportName): z.ZodObject => z.object({ ...pageParameters, ...filtersOf(name) })

/** Where all reports are answered; each has an operation of its own in the document. */
export const report_path = '/api/v1/reports/:report'

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
    answers: {
      200: {
        schema: page,
        description: 'A page of rows.',
        example: { rows: [example], meta: { since_ms, until_ms, limit: 100, offset: 0, elapsed_ms: 12 } },
      },
    },
    errors: [
      'unknown_report',
      'unknown_parameter',
      'invalid_since_until',
      'since_ms_must_be_less_than_until_ms',
      'window_too_large',
      'invalid_limit',
      'invalid_offset',
      ...(Object.keys(filtersOf(name)).length > 0 ? (['invalid_field'] as const) : []),
    ],
  }
}

/** The operation of each report: `eventsReport` of `events`. */
export const reportRoutes: Routes = Object.fromEntries(reportNames.map((name) => [`${name}Report`, reportRoute(name)]))
