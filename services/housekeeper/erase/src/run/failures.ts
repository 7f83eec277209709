import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Logger } from 'pino'

/** The apps of a run whose erasures have failed. */
export interface FailedApps {
  has(app_id: string): boolean
  /** Rejects when it would fail for every other app too. Null stands for the objects of earlier erasures. */
  add(app_id: string | null, err: unknown): Promise<void>
}

/** The failures of single apps in a run. None ends another app's erasure. */
export interface Failures extends FailedApps {
  throwFirst(): void
}

interface FailureDeps {
  clickhouse: Pick<Clickhouse, 'isInserting'>
  logger: Logger
  leaseHeld?(): Promise<void>
  atStep?: (step: string) => void
}

export function openFailures(deps: FailureDeps, signal: AbortSignal): Failures {
  const failures = new Map<string | null, unknown>()
  return {
    has: (app_id) => failures.has(app_id),
    async add(app_id, err) {
      await throwIfEnded(deps, signal)
      deps.logger.error({ err, app_id }, 'an erasure failed: those of other apps go on')
      failures.set(app_id, err)
    },
    throwFirst() {
      for (const failure of failures.values()) throw failure
    },
  }
}

/** Rejects when what failed for an app would fail for every other. */
async function throwIfEnded(deps: FailureDeps, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  await deps.leaseHeld?.()
  deps.atStep?.('next app')
  await deps.clickhouse.isInserting('eraser/')
}
