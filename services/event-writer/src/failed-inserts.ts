/** Failures in a row with the same error after which a block is divided. Pauses between them add up to half a minute. */
const same_failures_max = 6

interface Failed {
  times: number
  reason: string
  err: unknown
}

/** Remembers how the inserts of the batches in work failed. */
export interface FailedInserts {
  note(block: string, err: unknown): void
  /** The error of a block that the engine refused again and again in the same way; null else. */
  stubborn(block: string): unknown
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
    stubborn(block) {
      const found = failed.get(block)
      return found !== undefined && found.times >= same_failures_max ? found.err : null
    },
    forget(batch) {
      for (const block of failed.keys()) if (block.startsWith(`${batch}/`)) failed.delete(block)
    },
  }
}

/**
 * What the engine said of the block itself: its error code. Null for what says nothing about the block: the engine was
 * away or full, or a view failed, which it may do for every block.
 */
function reasonOf(err: unknown): string | null {
  const said = isPassing(err) ? err.cause : err
  if (!(said instanceof Error) || /while pushing to view/i.test(said.message)) return null
  const code = /\bCode: (\d+)\./.exec(said.message)?.[1] ?? ('code' in said ? String(said.code) : null)
  return isPassing(err) && code !== memory_limit_exceeded ? null : code
}

const memory_limit_exceeded = '241'

/** It says "not now": the engine takes the block one day. */
export const isPassing = (err: unknown): err is Error =>
  err instanceof Error && 'code' in err && err.code === 'unavailable'
