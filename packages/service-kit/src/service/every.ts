import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { OnClose } from './run-service.ts'
import { sharedMetric } from './shared-metric.ts'

export interface EveryOptions {
  /** Name in log lines and metrics. */
  name: string
  /** Pause between the end of a run and the beginning of the next. */
  pause_ms: number
  logger: Logger
  registry: Registry
  /** The signal ends a run that waits when the job is closed. */
  work(signal: AbortSignal): Promise<unknown>
}

/**
 * Does the work at once and then again and again until it is closed, never twice at the same time. A run that fails is
 * logged and counted, and the next one comes as if it had not. Closing lets the run in hand end.
 */
export function every({ name, pause_ms, logger, registry, work }: EveryOptions): { close(): Promise<void> } {
  const stop = new AbortController()
  const runs = sharedMetric(registry, Counter, {
    name: 'tributary_job_runs_total',
    help: 'Runs of periodic jobs.',
    labelNames: ['job', 'result'],
  })
  const running = (async () => {
    while (!stop.signal.aborted) {
      try {
        await work(stop.signal)
        runs.inc({ job: name, result: 'ok' })
      } catch (err) {
        if (stop.signal.aborted) break
        runs.inc({ job: name, result: 'failure' })
        logger.warn({ err, job: name }, 'job failed, will be tried again')
      }
      await pause(pause_ms, undefined, { signal: stop.signal }).catch(() => {})
    }
  })()
  return {
    async close() {
      stop.abort()
      await running
    },
  }
}

/** A declared job: work that is done at the start and then again and again. */
export interface Job<Context> {
  /** Name in log lines and metrics. */
  name: string
  /** Pause between the end of a run and the beginning of the next. */
  pause_ms: number
  /** Called once; what it returns is called for each run, see `every`. */
  prepare: (context: Context) => EveryOptions['work']
}

/** Starts each job; it goes on until the service closes. */
export function startJobs<Context extends { logger: Logger; registry: Registry; onClose: OnClose }>(
  jobs: readonly Job<Context>[],
  context: Context,
): void {
  const { logger, registry, onClose } = context
  for (const { name, pause_ms, prepare } of jobs) {
    const job = every({ name, pause_ms, logger, registry, work: prepare(context) })
    onClose(name, () => job.close())
  }
}
