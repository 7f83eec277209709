import { setTimeout as pause } from 'node:timers/promises'
import { CodedError } from '@tributary/contracts/errors'
import { type AwaitedState, awaitJob, leaveJob } from '@tributary/postgres/awaited-jobs'
import type { AdminApiDeps } from '../deps.ts'

/** Between two looks how far the work has come. */
export const look_pause_ms = 250
/** Housekeeper looks twice a second whether somebody asks for work. */
const begin_ms_max = 10_000

/** Waits until work has begun that a part of housekeeper was asked for. Work whose beginning nobody waits for never begins. */
export async function untilBegun(
  { pool, now }: Pick<AdminApiDeps, 'pool' | 'now'>,
  number: number,
  gone: AbortSignal,
  worker = 'replayer',
): Promise<AwaitedState> {
  const signal = AbortSignal.any([gone, AbortSignal.timeout(begin_ms_max)])
  for (;;) {
    const state = await awaitJob(pool, number)
    if (state.begun) return state
    if (signal.aborted) {
      await leaveJob(pool, number, now())
      gone.throwIfAborted()
      throw unavailable(`The ${worker} does not answer: is housekeeper running?`)
    }
    await pause(look_pause_ms, undefined, { signal }).catch(() => {})
  }
}

export const unavailable = (message: string) => new CodedError('unavailable', { message })
