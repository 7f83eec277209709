import { z } from 'zod'
import { limits } from './limits.ts'

/** A query parameter of a report; `schema` is JSON Schema. An array is a parameter that may be repeated. */
export interface ReportParameter {
  description: string
  schema:
    | { type: 'integer'; minimum?: number; maximum?: number; default?: number }
    | { type: 'array'; maxItems: number; items: { type: 'string'; minLength: number; maxLength: number } }
}

/** The parameters of every report. */
const pageParameters = {
  since_ms: {
    description: 'Inclusive start of the window, Unix epoch ms. 30 days ago by default.',
    schema: { type: 'integer' },
  },
  until_ms: {
    description: 'Exclusive end of the window, Unix epoch ms. Now by default; at most 365 days after its start.',
    schema: { type: 'integer' },
  },
  limit: {
    description: 'Rows of a page.',
    schema: { type: 'integer', minimum: 1, maximum: limits.report_limit_max, default: limits.report_limit_default },
  },
  offset: { description: 'Rows before the page.', schema: { type: 'integer', minimum: 0, default: 0 } },
} as const satisfies Record<string, ReportParameter>

/** A filter keeps the rows whose field of the same name has one of its values. */
const filterParameters = {
  event_name: {
    description: 'Only rows of this event name. May be repeated.',
    schema: {
      type: 'array',
      maxItems: limits.report_filter_values_max,
      items: { type: 'string', minLength: 1, maxLength: limits.event_name_chars_max },
    },
  },
} as const satisfies Record<string, ReportParameter>
export type FilterName = keyof typeof filterParameters

export const EventsReportRow = z.object({
  day: z.iso.date().describe('UTC.'),
  event_name: z.string(),
  events: z.number().int().describe('Accepted events, duplicates left out.'),
  unique_installs: z.number().int().describe('Different installs among them.'),
  revenue_usd: z
    .number()
    .describe('Counted money, refunds subtracted, at the exchange rate of its day; 0 without any.'),
})

/** Every report that can be requested, with its row; other names answer `unknown_report`. */
export const reports = {
  events: { row: EventsReportRow },
} as const
export type ReportName = keyof typeof reports
export const reportNames = Object.keys(reports) as ReportName[]

/** The filters of a report: those whose field its rows have. */
export const filtersOf = (name: ReportName): FilterName[] =>
  (Object.keys(filterParameters) as FilterName[]).filter((filter) => filter in reports[name].row.shape)

/** All query parameters of a report; any other is `unknown_parameter`. */
export const parametersOf = (name: ReportName): Record<string, ReportParameter> => ({
  ...pageParameters,
  ...Object.fromEntries(filtersOf(name).map((filter) => [filter, filterParameters[filter]])),
})

/** What is known of an install: `since_ms` is the time of its first event with the user id, Unix epoch ms. */
export const InstallRecord = z.object({
  app_id: z.string(),
  install_uuid: z.string(),
  installed_at_ms: z.number().int().nullable().describe('Unix epoch ms; null while there is no install event.'),
  identities: z
    .array(z.object({ user_id: z.string(), since_ms: z.number().int() }))
    .describe('User ids of the install, ordered by `since_ms`, the time of the first event with the user id.'),
})
export type InstallRecord = z.infer<typeof InstallRecord>

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

export const EventsReport = z.object({ rows: z.array(EventsReportRow), meta: ReportMeta })
export type EventsReport = z.infer<typeof EventsReport>
