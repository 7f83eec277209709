import { CodedError, type ErrorCode } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'

/** What a client asks of any report (interface.md "Reporting endpoints"). */
export interface ReportParameters {
  /** Inclusive, Unix epoch ms. */
  since_ms: number
  /** Exclusive, Unix epoch ms. */
  until_ms: number
  limit: number
  offset: number
}

const window_ms_max = limits.report_window_days_max * 24 * 3600 * 1000

/**
 * Throws the first fault in the order of decisions.md "Report requests": numbers, order of the window, its size, limit,
 * offset. `query` is as the HTTP layer gives it: a repeated parameter is an array, and so no integer.
 */
export function parseParameters(query: Record<string, unknown>, now_ms: number): ReportParameters {
  const since_ms = integer(query.since_ms, now_ms - limits.report_window_default_ms, 'invalid_since_until', 'since_ms')
  const until_ms = integer(query.until_ms, now_ms, 'invalid_since_until', 'until_ms')
  if (since_ms >= until_ms) throw new CodedError('since_ms_must_be_less_than_until_ms')
  if (until_ms - since_ms > window_ms_max) throw new CodedError('window_too_large')
  const limit = integer(query.limit, limits.report_limit_default, 'invalid_limit', 'limit')
  if (limit < 1 || limit > limits.report_limit_max) throw new CodedError('invalid_limit', { field: 'limit' })
  const offset = integer(query.offset, 0, 'invalid_offset', 'offset')
  if (offset < 0) throw new CodedError('invalid_offset', { field: 'offset' })
  return { since_ms, until_ms, limit, offset }
}

/** Digits only: Number() would take `1e3`, `0x10`, an empty text and spaces for integers. */
function integer(value: unknown, fallback: number, code: ErrorCode, field: string): number {
  if (value === undefined) return fallback
  const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new CodedError(code, { field })
  return number + 0 // `-0` is 0
}
