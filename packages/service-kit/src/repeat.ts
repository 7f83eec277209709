import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

export interface RepeatOptions {
  /** For the log. */
  name: string
  /** Between the end of one run and the start of the next, ms. */
  pause_ms: number
  logger: Logger
  work(signal: AbortSignal): Promise<unknown>
}

/** Repeats idempotent work until it is closed, never two runs at a time; a run that fails is logged and comes again. */
export function repeat({ name, pause_ms, logger, work }: RepeatOptions): { close(): Promise<void> } {
  const stop = new AbortController()
  const { signal } = stop
  const running = (async () => {
    while (!signal.aborted) {
      await work(signal).catch((err: unknown) => {
        if (!signal.aborted) logger.warn({ err, name }, 'repeated work failed, it comes again')
      })
      await sleep(pause_ms, undefined, { signal, ref: false }).catch(() => {})
    }
  })()
  return {
    async close() {
      stop.abort()
      await running
    },
  }
}
