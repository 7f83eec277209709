import { attributionTypes } from '@tributary/contracts/attribution/verdict'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'
import { allReceiptReasons, receiptVerdicts } from '@tributary/contracts/receipt/judged-receipt'
import { stores } from '@tributary/contracts/receipt/receipt'
import {
  FormParameters,
  GroupingParameters,
  type ReportDimension,
  type ReportFilters,
  type ReportFormat,
  type ReportGroup,
  reportDimensions,
  reportFormats,
  reportGroups,
  reportPeriods,
} from '@tributary/contracts/report-parameters'
import { columnsOf, filtersOf, isGrouped, parametersOf, type ReportName } from '@tributary/contracts/reports'
import { z } from 'zod'
import { wholeWindowOf } from './window-days.ts'

/** The page of a report that a client requests (docs/api.md#reports). */
export interface ReportPage {
  /** Inclusive, Unix epoch ms. */
  since_ms: number
  /** Exclusive, Unix epoch ms. */
  until_ms: number
  limit: number
  offset: number
}

/** The rows of a report that a request is about. */
export interface RequestedRows {
  limit: number
  offset: number
  /** The answer says how many rows all pages have. */
  count_rows: boolean
}

/** Period, dimensions and days of the rows of a report, and their order. */
export interface RequestedForm {
  group: ReportGroup
  /** Days since the install, in any order; absent without the parameter. */
  days?: readonly number[] | undefined
  /** Dimensions. Only for the report `performance`, as `sort` is. */
  by?: readonly ReportDimension[] | undefined
  /** A field of the row, with `-` before it for the greatest first. */
  sort?: string | undefined
}

/** The parameters of a request for a report. */
export interface RequestedReport extends RequestedForm {
  page: ReportPage
  filters: ReportFilters
  /** Absent where the header `Accept` decides. */
  format?: ReportFormat | undefined
  /** No `limit`: a CSV answer has all rows. */
  all_rows: boolean
  /** Both ends of the window are in the request, so that it means the same window each time. */
  is_window_given: boolean
}

/** Query as the HTTP layer gives it: a repeated parameter is an array. */
type Query = Record<string, unknown>

const window_ms_max = limits.report_window_days_max * day_ms

/**
 * Throws the first fault in the order of docs/rules.md#report-requests: unknown parameters, numbers, order of the window,
 * its size, limit, offset, then filters, `by`, `group`, `days`, `format` and `sort`.
 */
export function parseParameters(report: ReportName, query: Query, now_ms: number): RequestedReport {
  refuseUnknown(report, query)
  const page = parsePage(query, now_ms)
  return {
    page: isGrouped(report) ? { ...page, ...wholeWindowOf(page) } : page,
    filters: parseFilters(report, query),
    ...parseForm(report, query),
    all_rows: query.limit === undefined,
    is_window_given: query.since_ms !== undefined && query.until_ms !== undefined,
  }
}

const formRules: Record<string, string> = {
  by: `It must be up to ${limits.report_dimensions_max} different ones of: ${reportDimensions.join(', ')}.`,
  days: `It must be up to ${limits.report_days_max} numbers of 0 to ${limits.report_day_max}, such as 0,7,30.`,
  format: `It must be one of: ${reportFormats.join(', ')}.`,
}

const GroupedForm = z.object({ ...GroupingParameters.shape, ...FormParameters.omit({ group: true }).shape })

/** `by`, `days` and `sort` of a report without such a parameter are refused before. */
function parseForm(report: ReportName, query: Query): RequestedForm & { format?: ReportFormat | undefined } {
  const grouped = isGrouped(report)
  const parsed = (grouped ? GroupedForm : FormParameters).safeParse(query)
  if (!parsed.success) {
    const field = String(parsed.error.issues[0]?.path[0])
    const periods = `It must be one of: ${(grouped ? reportGroups : reportPeriods).join(', ')}.`
    throw new CodedError('invalid_field', { field, message: field === 'group' ? periods : (formRules[field] ?? '') })
  }
  const form: RequestedForm & { format?: ReportFormat | undefined } = parsed.data
  const fields = columnsOf(report, form)
  if (form.sort !== undefined && !fields.includes(form.sort.replace(/^-/, '')))
    throw new CodedError('invalid_field', {
      field: 'sort',
      message: `It must be a field of the row, with - before it from the greatest down: ${fields.join(', ')}.`,
    })
  return form
}

function refuseUnknown(report: ReportName, query: Query): void {
  const known = Object.keys(parametersOf(report).shape)
  const field = Object.keys(query).find((name) => !known.includes(name))
  if (field === undefined) return
  throw new CodedError('unknown_parameter', { field, message: `Parameters of this report: ${known.join(', ')}.` })
}

function parsePage(query: Query, now_ms: number): ReportPage {
  const since_ms = integer(query.since_ms, now_ms - limits.report_window_default_ms, 'invalid_since_until', 'since_ms')
  const until_ms = integer(query.until_ms, now_ms, 'invalid_since_until', 'until_ms')
  const hint = secondsHint({ since_ms, until_ms })
  if (since_ms >= until_ms)
    throw new CodedError('since_ms_must_be_less_than_until_ms', hint === null ? {} : { message: hint })
  if (until_ms - since_ms > window_ms_max) throw tooLarge(hint)
  const limit = integer(query.limit, limits.report_limit_default, 'invalid_limit', 'limit')
  if (limit < 1 || limit > limits.report_limit_max) throw invalid('invalid_limit', 'limit')
  const offset = integer(query.offset, 0, 'invalid_offset', 'offset')
  if (offset < 0) throw invalid('invalid_offset', 'offset')
  return { since_ms, until_ms, limit, offset }
}

/** Asks whether seconds were meant: as milliseconds, such a time lies between January and April 1970. */
export function secondsHint(window: Pick<ReportPage, 'since_ms' | 'until_ms'>): string | null {
  const fields = (['since_ms', 'until_ms'] as const).filter((field) => window[field] >= 1e9 && window[field] < 1e10)
  if (fields.length === 0) return null
  const [first, second] = fields
  return `${second === undefined ? `${first} looks` : `${first} and ${second} look`} like seconds? Times are in milliseconds.`
}

const tooLarge = (hint: string | null) =>
  new CodedError('window_too_large', { message: hint === null ? windowRule : `${windowRule} ${hint}` })

const windowRule = `The window from since_ms to until_ms may be ${limits.report_window_days_max} days long at most.`
const pageRules = {
  invalid_since_until: 'It must be a time in whole Unix milliseconds, such as 1767225600000.',
  invalid_limit: `It must be a whole number from 1 to ${limits.report_limit_max}.`,
  invalid_offset: 'It must be a whole number from 0.',
}
type PageError = keyof typeof pageRules
const invalid = (code: PageError, field: string) => new CodedError(code, { field, message: pageRules[code] })

/** Accepts digits only: Number() would also accept `1e3`, `0x10`, an empty text and spaces. */
export function integer(value: unknown, fallback: number, code: PageError, field: string): number {
  if (value === undefined) return fallback
  const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number)) throw invalid(code, field)
  return number + 0 // `-0` is 0
}

const upTo = (chars: number) => `It must be 1 to ${chars} characters, at most ${limits.report_filter_values_max} times.`
const orEmpty = (chars: number) =>
  `It must be at most ${chars} characters, at most ${limits.report_filter_values_max} times.`
const labelRule = orEmpty(limits.campaign_chars_max)
const subRule = orEmpty(limits.click_value_chars_max)
const filterRules: Record<string, string> = {
  ...{ campaign: labelRule, ad_group: labelRule, creative: labelRule, link_id: labelRule },
  ...{ sub1: subRule, sub2: subRule, sub3: subRule, sub4: subRule, sub5: subRule },
  country: 'It must be a code of ISO 3166-1 alpha-2 such as DE.',
  event_name: upTo(limits.event_name_chars_max),
  partner: upTo(limits.partner_chars_max),
  attribution_type: `It must be one of: ${attributionTypes.join(', ')}.`,
  store: `It must be one of: ${stores.join(', ')}, or empty.`,
  verdict: `It must be one of: ${receiptVerdicts.join(', ')}.`,
  reason: `It must be one of: ${allReceiptReasons.join(', ')}, or empty.`,
} satisfies Record<keyof ReportFilters, string>

/** A filter that is given once comes as a text. */
function parseFilters(report: ReportName, query: Query): ReportFilters {
  const filters: ReportFilters = {}
  for (const [field, schema] of Object.entries(filtersOf(report))) {
    if (query[field] === undefined) continue
    const values = schema.safeParse([query[field]].flat())
    if (!values.success) throw new CodedError('invalid_field', { field, message: filterRules[field] ?? '' })
    Object.assign(filters, { [field]: values.data })
  }
  return filters
}
