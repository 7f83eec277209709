import { CodedError } from '@tributary/contracts/errors'

/**
 * ClickHouse error codes of a state that passes: limits of time, memory, disk and connections. The statement itself is not
 * wrong.
 */
const passing = new Set([
  '159', // TIMEOUT_EXCEEDED
  '160', // TOO_SLOW
  '202', // TOO_MANY_SIMULTANEOUS_QUERIES
  '209', // SOCKET_TIMEOUT
  '210', // NETWORK_ERROR
  '225', // NO_ZOOKEEPER
  '236', // ABORTED
  '241', // MEMORY_LIMIT_EXCEEDED
  '242', // TABLE_IS_READ_ONLY
  '243', // NOT_ENOUGH_SPACE
  '252', // TOO_MANY_PARTS
  '279', // ALL_CONNECTION_TRIES_FAILED
  '285', // TOO_FEW_LIVE_REPLICAS
  '286', // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
  '319', // UNKNOWN_STATUS_OF_INSERT
  '396', // TOO_MANY_ROWS_OR_BYTES
  '439', // CANNOT_SCHEDULE_TASK
  '745', // SERVER_OVERLOADED
  '999', // KEEPER_EXCEPTION
])

/** Turns an error of the engine into what callers see: CodedError `unavailable` for a state that passes, else the same. */
export function toEngineError(error: unknown): unknown {
  const code = engineCode(error)
  if (code === undefined || !passing.has(code)) return error
  return new CodedError('unavailable', { cause: error })
}

function engineCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  return /\bCode: (\d+)\./.exec(error.message)?.[1] ?? ('code' in error ? String(error.code) : undefined)
}
