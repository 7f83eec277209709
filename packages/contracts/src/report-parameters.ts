import { z } from 'zod'
import { attributionTypes } from './attribution/verdict.ts'
import { limits } from './limits.ts'
import { allReceiptReasons, receiptVerdicts } from './receipt/judged-receipt.ts'
import { stores } from './receipt/receipt.ts'

/** The window of examples, Unix epoch ms. */
export const exampleWindow = { since_ms: Date.UTC(2026, 5, 1), until_ms: Date.UTC(2026, 6, 1) }
const { since_ms, until_ms } = exampleWindow

/** The query parameters of every report. */
export const pageParameters = {
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

/** The periods that rows may be of. A week begins on Monday (ISO 8601). */
export const reportPeriods = ['day', 'week', 'month'] as const
/** `none`: the whole window. Only the report `performance` takes it. */
export const reportGroups = [...reportPeriods, 'none'] as const
export type ReportGroup = (typeof reportGroups)[number]

/** Dimensions that rows of the report `performance` can have, besides a period. */
export const reportDimensions = [
  ...(['partner', 'campaign', 'ad_group', 'creative', 'link_id'] as const),
  ...(['sub1', 'sub2', 'sub3', 'sub4', 'sub5', 'country', 'attribution_type'] as const),
] as const
export type ReportDimension = (typeof reportDimensions)[number]
export const default_dimensions: readonly ReportDimension[] = ['partner', 'campaign']

/** What the rows of a report are of: `group` of every report, `days` of those with fields of days since the install. */
export const PeriodParameters = z.object({
  group: z
    .enum(reportPeriods)
    .default('day')
    .describe('Period of a row. `day` of a row is the first day of its week (Monday) or month.'),
  /** Parses `0,7,30` to its numbers. */
  days: z
    .string()
    .regex(/^\d{1,3}(,\d{1,3})*$/)
    .transform((text) => text.split(',').map(Number))
    .refine((days) => days.length <= limits.report_days_max && days.every((n) => n <= limits.report_day_max))
    .optional()
    .meta({
      description: `Days since the install that the rows have fields of: up to ${limits.report_days_max} numbers of 0 to ${limits.report_day_max}, separated by commas.`,
      example: '0,1,3,7,14,30,60,90',
    }),
})

/** The forms of an answer. */
export const reportFormats = ['json', 'csv'] as const
export type ReportFormat = (typeof reportFormats)[number]

/** The parameters above, and the form of the answer. */
export const FormParameters = PeriodParameters.extend({
  format: z
    .enum(reportFormats)
    .optional()
    .describe('Form of the answer. Without it `Accept: text/csv` gives CSV, anything else JSON.'),
})

/** The parameters of `performance` besides those: `sort` is checked against the fields of the row. */
export const GroupingParameters = z.object({
  /** Parses `partner,country` to its dimensions; empty: none. */
  by: z
    .string()
    .transform((text) => (text === '' ? [] : text.split(',')))
    .pipe(z.array(z.enum(reportDimensions)).max(limits.report_dimensions_max))
    .refine((by) => new Set(by).size === by.length)
    .default([...default_dimensions])
    .meta({
      description: `What rows are of, besides the period: up to ${limits.report_dimensions_max} of ${reportDimensions.join(', ')}, separated by commas. Empty: one row a period.`,
      example: default_dimensions.join(','),
    }),
  group: z
    .enum(reportGroups)
    .default('day')
    .describe('Period of a row. `day` of a row is the first day of its week (Monday) or month; `none`: no `day`.'),
  sort: z.string().optional().meta({
    description:
      'Field of the row to order by, with `-` from the greatest down; `null` comes last. By default, and among equals, rows are ordered by day, then by the dimensions.',
    example: '-installs',
  }),
})

const label = (rows: string) =>
  z
    .array(z.string().max(limits.campaign_chars_max))
    .max(limits.report_filter_values_max)
    .optional()
    .describe(`Only rows of this ${rows}; empty: rows that name none. May be repeated.`)
const sub = (n: number) =>
  z
    .array(z.string().max(limits.click_value_chars_max))
    .max(limits.report_filter_values_max)
    .optional()
    .describe(`Only rows of this \`sub${n}\`; empty: rows that name none. May be repeated.`)

/** A filter keeps the rows whose field of the same name has one of its values. */
export const filterParameters = {
  event_name: z
    .array(z.string().min(1).max(limits.event_name_chars_max))
    .max(limits.report_filter_values_max)
    .optional()
    .describe('Only rows of this event name. May be repeated.'),
  partner: z
    .array(z.string().min(1).max(limits.partner_chars_max).toLowerCase())
    .max(limits.report_filter_values_max)
    .optional()
    .describe('Only rows of this partner. May be repeated.'),
  campaign: label('campaign'),
  ad_group: label('ad group'),
  creative: label('creative'),
  link_id: label('tracking link'),
  sub1: sub(1),
  sub2: sub(2),
  sub3: sub(3),
  sub4: sub(4),
  sub5: sub(5),
  country: z
    .array(z.string().max(2).toUpperCase())
    .max(limits.report_filter_values_max)
    .optional()
    .describe('Only rows of this country, in any case; empty: rows that name none. May be repeated.'),
  attribution_type: z
    .array(z.enum(attributionTypes))
    .max(limits.report_filter_values_max)
    .optional()
    .describe('Only rows of this attribution type. May be repeated.'),
  store: z
    .array(z.enum([...stores, '']))
    .max(limits.report_filter_values_max)
    .optional()
    .describe('Only rows of this store; empty: rows that name none. May be repeated.'),
  verdict: z
    .array(z.enum(receiptVerdicts))
    .max(limits.report_filter_values_max)
    .optional()
    .describe('Only rows of this verdict. May be repeated.'),
  reason: z
    .array(z.enum([...allReceiptReasons, '']))
    .max(limits.report_filter_values_max)
    .optional()
    .describe('Only rows of this reason; empty: rows without one. May be repeated.'),
}

/** The values of each filter in the request. A row passes if its field has one of them. */
export type ReportFilters = { [Name in keyof typeof filterParameters]?: string[] }
