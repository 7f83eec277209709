import type { Logger } from 'pino'

/** Closes run last-in-first-out, so that what was opened first outlives what uses it. */
export type OnClose = (what: string, close: () => Promise<void>) => void

export interface ServiceOptions {
  logger: Logger
  /** One deadline for all closes together; the process ends after it, come what may. */
  stop_ms_max: number
  /** Opens everything and resolves once the service works. What it opened is closed also when it fails half-way. */
  start(onClose: OnClose): Promise<void>
}

/** Runs a service until SIGINT or SIGTERM, then closes it and ends the process: 0 after a clean stop, else 1. */
export async function runService({ logger, stop_ms_max, start }: ServiceOptions): Promise<void> {
  const closes: { what: string; close: () => Promise<void> }[] = []
  let stopping = false

  const stop = async (reason: string, exit_code: number) => {
    if (stopping) return
    stopping = true
    logger.info({ reason }, 'stopping')
    const deadline = setTimeout(() => {
      logger.error({ stop_ms_max }, 'did not stop in time, ending anyway')
      process.exit(1)
    }, stop_ms_max)
    deadline.unref()
    for (const { what, close } of closes.reverse()) {
      try {
        await close()
      } catch (err) {
        logger.error({ err, what }, 'close failed')
        exit_code = 1
      }
    }
    logger.info({ exit_code }, 'stopped')
    logger.flush(() => process.exit(exit_code))
  }
  process.on('SIGINT', () => stop('SIGINT', 0))
  process.on('SIGTERM', () => stop('SIGTERM', 0))
  // State is unknown after these; the log and the batch tokens make an abrupt end harmless.
  process.on('uncaughtException', (err) => {
    logger.fatal({ err }, 'uncaught exception')
    stop('uncaught exception', 1)
  })
  process.on('unhandledRejection', (err) => {
    logger.fatal({ err }, 'unhandled rejection')
    stop('unhandled rejection', 1)
  })
  try {
    await start((what, close) => closes.push({ what, close }))
  } catch (err) {
    // A refusal to start is an answer to a person: its message first, without a stack where it was foreseen.
    if (err instanceof StartRefused) process.stderr.write(`${err.message}\n`)
    else logger.fatal({ err }, 'start failed')
    await stop('start failed', 1)
  }
}

/** The service must not start as things are; the message says why and how to mend it. */
export class StartRefused extends Error {
  override name = 'StartRefused'
}
