import { setTimeout as pause } from 'node:timers/promises'
import { FencedError } from '@tributary/broker/broker'
import type { Semaphore } from 'async-mutex'
import type { Logger } from 'pino'

export interface RetryPauses {
  first_ms: number
  most_ms: number
}

/** The partition was taken away or the consumer is closing before the work was done; the next owner will do it. */
export class StoppedError extends Error {
  override name = 'StoppedError'
}

export interface Attempts {
  /** What is tried; the log line names it. */
  step: string
  signal: AbortSignal
  logger: Logger
  pauses: RetryPauses
  /** The caller holds one of these slots. It is free while the next try is waited for. */
  slots: Semaphore
  onFailure(): void
}

/**
 * Tries until it succeeds: an absent dependency may cost time, and never records. Ends with `FencedError` when the
 * partition is lost, with `StoppedError` when the signal fires between two tries; a try itself is never cut off.
 */
export async function retryForever<T>(attempts: Attempts, work: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work()
    } catch (err) {
      if (err instanceof FencedError) throw err
      attempts.onFailure()
      attempts.logger.warn({ err, step: attempts.step, failures }, 'consumer step failed, will be tried again')
      attempts.slots.release()
      try {
        await pauseWithJitter(failures, attempts)
      } finally {
        await attempts.slots.acquire()
      }
    }
  }
}

/** Between half and all of the doubled pause, so that partitions that failed together don't return together. */
async function pauseWithJitter(failures: number, { pauses, signal }: Attempts): Promise<void> {
  const full = Math.min(pauses.most_ms, pauses.first_ms * 2 ** Math.min(failures - 1, 20))
  try {
    await pause(full * (0.5 + Math.random() / 2), undefined, { signal })
  } catch {
    throw new StoppedError('stopped before the work was done')
  }
}
