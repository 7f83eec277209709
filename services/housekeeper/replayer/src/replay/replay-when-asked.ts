import { AskedReplay } from '@tributary/contracts/admin/stored-data'
import { CodedError } from '@tributary/contracts/errors'
import { openTombstones } from '@tributary/erasure/tombstones'
import { doAwaited, type JobInHand } from '@tributary/postgres/awaited-jobs'
import { listAppFacts } from '@tributary/tenancy/companies/tenants'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { type ReplayDeps, replay } from './replay.ts'
import { createTally, progressOf, type Tally } from './tally.ts'

export interface ReplayJobDeps extends Omit<ReplayDeps, 'tombstones'> {
  pool: Pool
  masterKeys: MasterKeys
  /** Called before a replay of the whole audit store. What it gives back is called once all that it holds is filled. */
  beginReplay?: (() => () => void) | undefined
  logger: Logger
}

/** Replays when somebody asks for it, for as long as somebody waits. */
export function replayWhenAsked(deps: ReplayJobDeps) {
  const { pool, now, logger } = deps
  const tombstones = openTombstones(deps)

  async function work({ asked, left, ended, show }: JobInHand, stop: AbortSignal): Promise<object> {
    const { request_id, ...chosen } = AskedReplay.parse(asked)
    const facts = { ...chosen, request_id }
    const tally = createTally()
    const started_ms = performance.now()
    const progress = () => {
      tally.seconds = Math.floor((performance.now() - started_ms) / 1000)
      return progressOf(tally)
    }
    show(progress)
    logger.info(facts, 'replay started')
    const isWhole = chosen.source === 'audit' && !chosen.dry_run && !chosen.since_ms && chosen.app_id === undefined
    const onFilled = isWhole ? deps.beginReplay?.() : undefined
    const signal = AbortSignal.any([left, ended])
    const run = async () => replay({ ...deps, tombstones }, chosen, { apps: await listAppFacts(pool), tally, signal })
    await endIn(tally, run, AbortSignal.any([left, stop]), (err) => logger.error({ err, ...facts }, 'replay failed'))
    logger.info({ ...facts, ...progress() }, 'replay ended')
    if (tally.state === 'done') onFilled?.()
    return {}
  }

  return (stop: AbortSignal) => doAwaited(pool, 'replay', { now, stop, work: (job) => work(job, stop) })
}

/** Never rejects: how it ended stands in the tally. */
async function endIn(tally: Tally, run: () => Promise<void>, stopped: AbortSignal, onError: (err: unknown) => void) {
  try {
    await run()
    tally.state = 'done'
  } catch (error) {
    tally.state = stopped.aborted ? 'stopped' : 'failed'
    if (stopped.aborted) return
    tally.error = error instanceof CodedError ? error.code : 'unavailable'
    onError(error)
  }
}
