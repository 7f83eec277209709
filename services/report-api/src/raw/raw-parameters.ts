import { CodedError } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'
import { type RawFormat, RawParameters, rawFormats } from '@tributary/contracts/raw-tables'
import { integer } from '../parameters.ts'

export interface RawRequest {
  since_ms: number
  until_ms: number
  format: RawFormat
}

const known = Object.keys(RawParameters.shape)

/** Throws the first fault: unknown parameters, the ends of the window, its order, its size, then `format`. */
export function parseRaw(query: Record<string, unknown>): RawRequest {
  const field = Object.keys(query).find((name) => !known.includes(name))
  if (field !== undefined)
    throw new CodedError('unknown_parameter', { field, message: `Parameters of raw data: ${known.join(', ')}.` })
  const [since_ms, until_ms] = (['since_ms', 'until_ms'] as const).map((name) =>
    integer(query[name], Number.NaN, 'invalid_since_until', name),
  ) as [number, number]
  for (const [field, value] of Object.entries({ since_ms, until_ms })) {
    if (Number.isNaN(value)) throw new CodedError('invalid_since_until', { field, message: 'It is required.' })
  }
  if (since_ms >= until_ms) throw new CodedError('since_ms_must_be_less_than_until_ms')
  if (until_ms - since_ms > limits.raw_window_days_max * day_ms) {
    const message = `The window from since_ms to until_ms may be ${limits.raw_window_days_max} days long at most.`
    throw new CodedError('window_too_large', { message })
  }
  const { format = 'jsonl' } = query
  if (!isFormat(format))
    throw new CodedError('invalid_field', {
      field: 'format',
      message: `It must be one of: ${rawFormats.join(', ')}.`,
    })
  return { since_ms, until_ms, format }
}

const isFormat = (format: unknown): format is RawFormat => (rawFormats as readonly unknown[]).includes(format)
