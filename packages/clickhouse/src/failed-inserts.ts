/** Failures in a row with the same error after which a block is divided: some seconds, half a minute for each later half. */
const same_failures_max = 6
/** The same for a record alone, which then becomes a dead letter: ten minutes. */
const record_failures_max = 25

/** Error codes of ClickHouse that say something about the rows of a block. Any other may be over the next minute. */
const blockCodes: ReadonlySet<string> = new Set([
  '6', // CANNOT_PARSE_TEXT
  '26', // CANNOT_PARSE_QUOTED_STRING
  '27', // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  '49', // LOGICAL_ERROR
  '53', // TYPE_MISMATCH
  '70', // CANNOT_CONVERT_TYPE
  '117', // INCORRECT_DATA
  '128', // TOO_LARGE_ARRAY_SIZE
  '131', // TOO_LARGE_STRING_SIZE
  '158', // TOO_MANY_ROWS
  '173', // CANNOT_ALLOCATE_MEMORY
  '307', // TOO_MANY_BYTES
  '321', // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
  '349', // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
  '407', // DECIMAL_OVERFLOW
])

interface Failed {
  times: number
  reason: string
  err: unknown
}

/** Remembers how the inserts of the batches in work failed. */
export interface FailedInserts {
  note(block: string, err: unknown): void
  /** The error of a block that the engine refused again and again in the same way; null else. */
  findRepeated(block: string, isOneRecord: boolean): unknown
  /** The batch is done. */
  forget(batch: string): void
}

export function createFailedInserts(): FailedInserts {
  const failed = new Map<string, Failed>()
  return {
    note(block, err) {
      const reason = reasonOf(err)
      const known = failed.get(block)
      if (reason === null) failed.delete(block)
      else failed.set(block, { times: known?.reason === reason ? known.times + 1 : 1, reason, err })
    },
    findRepeated(block, isOneRecord) {
      const found = failed.get(block)
      const times = isOneRecord ? record_failures_max : same_failures_max
      return found !== undefined && found.times >= times ? found.err : null
    },
    forget(batch) {
      for (const block of failed.keys()) if (block.startsWith(`${batch}/`)) failed.delete(block)
    },
  }
}

/**
 * What the engine said of the block itself: its error code. Null for what says nothing about the block: the engine was
 * away or full, or a view failed for another reason than memory, which it may do for every block.
 */
function reasonOf(err: unknown): string | null {
  const said = isPassing(err) ? err.cause : err
  if (!(said instanceof Error)) return null
  const code = /\bCode: (\d+)\./.exec(said.message)?.[1] ?? ('code' in said ? String(said.code) : null)
  if (code === memory_limit_exceeded) return code
  const isOfBlock = code !== null && blockCodes.has(code) && !/while pushing to view/i.test(said.message)
  return isOfBlock && !isPassing(err) ? code : null
}

const memory_limit_exceeded = '241'

/** It says "not now": the engine takes the block one day. */
export const isPassing = (err: unknown): err is Error =>
  err instanceof Error && 'code' in err && err.code === 'unavailable'
