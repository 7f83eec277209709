import { limits } from '@tributary/contracts/limits'
import { createFairPool } from './fair-pool.ts'
import type { RunInTurn } from './run-in-turn.ts'

/**
 * Makes of `runInTurn` one that takes one turn of a person at a time: what runs so may take seconds, and standalone has few turns.
 * Throws `rate_limited` when too many of the person wait.
 */
export function oneAtATime(runInTurn: RunInTurn): RunInTurn {
  const pool = createFairPool({
    ...{ running_max: Number.POSITIVE_INFINITY, company_running_max: Number.POSITIVE_INFINITY },
    ...{ key_running_max: 1, key_waiting_max: limits.finds_waiting_max },
    wait_ms_max: limits.report_run_ms_max,
    run_ms_max: limits.report_wait_ms_max + limits.report_run_ms_max,
  })
  return async (owner, reply, work, continues) => {
    const gone = new AbortController()
    const leave = () => gone.abort()
    if (reply.raw.destroyed) leave()
    reply.raw.once('close', leave)
    return pool
      .run(owner, () => runInTurn(owner, reply, work, continues), gone.signal)
      .finally(() => reply.raw.off('close', leave))
  }
}
