import { limits } from '@tributary/contracts/limits'
import type { Logger } from 'pino'

export interface CountedLog {
  /** Counts one more; the fields of the last one stand in the line. */
  count(fields: Record<string, unknown>): void
  /** Writes the line that is due now. */
  flush(): void
}

/** Logs at most one line in `limits.refusals_log_ms` for a refusal that clients can cause at any rate. */
export function countedLog(logger: Pick<Logger, 'warn'>, message: string): CountedLog {
  let count = 0
  let last: Record<string, unknown> = {}
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (count > 0) logger.warn({ count, last }, message)
    count = 0
  }
  return {
    count(fields) {
      count += 1
      last = fields
      timer ??= setTimeout(flush, limits.refusals_log_ms).unref()
    },
    flush,
  }
}
