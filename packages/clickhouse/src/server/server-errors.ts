import { ClickHouseError } from '@clickhouse/client'
import { CodedError } from '@tributary/contracts/errors'
import { toEngineError } from '../unavailable.ts'

/**
 * An error of a call over HTTP as callers see it: what the server said goes the way of `toEngineError`; all else
 * (refused, reset, timed out, a proxy's page) is CodedError `unavailable`, except for mistakes of our own.
 */
export function toServerError(error: unknown): unknown {
  if (error instanceof ClickHouseError) return toEngineError(error)
  if (error instanceof TypeError || error instanceof RangeError) return error
  return new CodedError('unavailable', { cause: error })
}
