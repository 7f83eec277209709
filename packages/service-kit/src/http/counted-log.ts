import { limits } from '@tributary/contracts/limits'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'

/** Counts one refusal. The fields of the last one stand in the log line. */
export type CountRefusal = (fields: Record<string, unknown>) => void

/**
 * Logs refusals that clients can cause at any rate: at most one line in `limits.refusals_log_ms`, with their count, and
 * a last one when the app closes.
 */
export function countedLog(app: FastifyInstance, logger: Pick<Logger, 'warn'>, message: string): CountRefusal {
  let count = 0
  let last: Record<string, unknown> = {}
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (count > 0) logger.warn({ count, last }, message)
    count = 0
  }
  app.addHook('onClose', async () => flush())
  return (fields) => {
    count += 1
    last = fields
    timer ??= setTimeout(flush, limits.refusals_log_ms).unref()
  }
}
