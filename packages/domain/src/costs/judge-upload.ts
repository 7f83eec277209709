import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { type JudgedCosts, judgeCosts } from './judge-costs.ts'

/** An upload of costs after its checks. */
export interface JudgedUpload extends JudgedCosts {
  as_of_ms: number
}

/** Judges the body of an upload of costs. Throws `bad_batch_shape` and `too_many_costs`. */
export function judgeUpload(body: Record<string, unknown>, received_at_ms: number): JudgedUpload {
  const { costs, as_of_ms, ...others } = body
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw badShape(unknown, 'An upload has the fields costs and as_of_ms.')
  if (!Array.isArray(costs) || costs.length === 0) throw badShape('costs', '`costs` is an array of at least one cost.')
  if (costs.length > limits.costs_max) {
    throw new CodedError('too_many_costs', { field: 'costs', message: `An upload holds ${limits.costs_max} costs.` })
  }
  return { as_of_ms: asOf(as_of_ms, received_at_ms), ...judgeCosts(costs, received_at_ms) }
}

/** A time far ahead would win over every later upload. */
function asOf(value: unknown, now_ms: number): number {
  if (value === undefined || value === null) return 0
  const at_ms_max = now_ms + limits.cost_as_of_ahead_ms_max
  if (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= at_ms_max) return value as number
  throw badShape('as_of_ms', '`as_of_ms` is a whole number of Unix epoch milliseconds, at most 24 hours ahead of now.')
}

const badShape = (field: string, message: string) =>
  new CodedError('bad_batch_shape', { field: field.slice(0, limits.campaign_chars_max).toWellFormed(), message })
