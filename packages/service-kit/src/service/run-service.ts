import type { Logger } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { StartRefused } from '../settings/start-refused.ts'
import { openTraces, type TraceConfig } from '../traces/open-traces.ts'
import type { Traces } from '../traces/traces.ts'
import type { Trouble } from './health.ts'
import { createLogger, type LogFormat } from './logger.ts'
import { shedStartMemory } from './shed-start-memory.ts'

/** Registers a close. Closes run last-in-first-out, so that what was opened first is closed after what uses it. */
export type OnClose = (what: string, close: () => Promise<void>) => void

/** The things that every process has. Resources add their checks, and everything that is opened adds its close. */
export interface Service {
  name: string
  logger: Logger
  registry: Registry
  /** Unix epoch ms. Somebody may set this clock, both ways (docs/clocks.md). */
  now(): number
  /** Clock of durations, in milliseconds, which nobody sets. */
  elapsed(): number
  onClose: OnClose
  /** Checks by binding of `/health`: `database`, `object_storage`, `key_value`, `queues`, `analytics`. */
  checks: Record<string, () => Promise<void>>
  /** A part that may fail adds a function that returns its troubles, for `/health`, `/ready` and `tributary doctor`. */
  troubles: (() => readonly Trouble[])[]
  /** Absent where no setting names a collector. */
  traces?: Traces | undefined
  /**
   * Logs the error and ends the process as a kill does: for a state in which a close or an exit hook would never return. A
   * supervisor starts it again.
   */
  endNow(err: Error): void
}

export interface ServiceOptions<Config> {
  name: string
  /** One deadline for all closes together; the process always ends after it. */
  stop_ms_max?: number
  /** Throws `StartRefused` with every problem at once. */
  readConfig(env: Record<string, string | undefined>): Config
  /** Opens everything and resolves once the service takes traffic. If it fails half-way, what it opened is closed too. */
  start(config: Config, service: Service): Promise<unknown>
}

interface LogConfig {
  TRIBUTARY_LOG_LEVEL: string
  TRIBUTARY_LOG_FORMAT: LogFormat
}

const stop_ms_max_default = 20_000
/** Maximum wait for the last log lines: what reads them may hang too. */
const flush_ms = 200

/**
 * Runs a service until SIGINT or SIGTERM, then closes it and ends the process: 0 after a clean stop, 1 after a failed
 * one. A stop that misses its deadline is a kill. Nothing else in a service reads the environment.
 */
export async function runService<Config extends LogConfig & Partial<TraceConfig>>(
  options: ServiceOptions<Config>,
): Promise<void> {
  const { name, stop_ms_max = stop_ms_max_default, start } = options
  const config = readConfigOrEnd(options.readConfig)
  const log = { name, level: config.TRIBUTARY_LOG_LEVEL, format: config.TRIBUTARY_LOG_FORMAT }
  const logger = createLogger(log)
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const closes: { what: string; close: () => Promise<void> }[] = []
  const onClose: OnClose = (what, close) => closes.push({ what, close })
  let stopping = false

  const stop = async (reason: string, exit_code: number, last_line = '') => {
    if (stopping) return
    stopping = true
    logger.info({ reason }, 'stopping')
    // The log's own exit hook, which came first, writes what it still holds.
    process.on('exit', () => process.stderr.write(last_line))
    const deadline = setTimeout(() => {
      logger.error({ stop_ms_max }, 'did not stop in time, ending anyway')
      process.stderr.write(last_line)
      killSoon()
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
  const endNow = (err: Error) => {
    // Synchronous, because the threads that write the log otherwise may hang.
    createLogger({ ...log, sync: true }).fatal({ err }, 'ending at once')
    process.kill(process.pid, 'SIGKILL')
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
    const clocks = { now: Date.now, elapsed: () => performance.now() }
    // Opened first, so closed last: spans of the closes go out too.
    const traces = await openTraces(config, { name, logger, registry, onClose })
    await start(config, { name, logger, registry, ...clocks, onClose, endNow, checks: {}, troubles: [], traces })
    shedStartMemory()
  } catch (err) {
    // The start failed because the stop had closed what it used: this is no error.
    if (stopping) return logger.info({ err }, 'start ended by the stop')
    // A refusal to start is an answer to a person: its message last, below what resources log, without a stack.
    if (!(err instanceof StartRefused)) logger.fatal({ err }, 'start failed')
    await stop('start failed', 1, err instanceof StartRefused ? `${err.message}\n` : '')
  }
}

/**
 * Ends the process whatever its exit hooks do: that of lmdb waits for its writer, which waits for the disk, so
 * `process.exit` could hang as well.
 */
function killSoon(): void {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), flush_ms)
}

function readConfigOrEnd<Config>(readConfig: ServiceOptions<Config>['readConfig']): Config {
  try {
    return readConfig(process.env)
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}
