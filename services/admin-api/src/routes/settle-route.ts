import { setTimeout } from 'node:timers/promises'
import { Settled, storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { askJob, findJob } from '@tributary/postgres/jobs'
import type { FastifyInstance } from 'fastify'
import { addRoute } from '../add-route.ts'
import type { AdminApiDeps } from '../deps.ts'

/** Between two looks whether the settler has ended. */
const look_pause_ms = 100
/** The settler ends its last statement after `settle_ms_max`, and may first end what others asked for. */
const wait_ms_max = 3 * limits.settle_ms_max

/** `POST /settle`: has the settler settle what is due, for at most `settle_ms_max`; `done` says whether more is due. */
export function addSettleRoute(app: FastifyInstance, { pool, now }: Pick<AdminApiDeps, 'pool' | 'now'>): void {
  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort(unavailable('admin-api ends.')))
  addRoute(app, storedDataRoutes.settle, async (_input, _request, reply) => {
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    const signal = AbortSignal.any([stop.signal, left.signal, AbortSignal.timeout(wait_ms_max)])
    const number = await askJob(pool, 'settle', now())
    for (;;) {
      const job = await findJob(pool, number)
      if (job?.outcome) return settledOf(job.outcome)
      stop.signal.throwIfAborted()
      if (signal.aborted && job?.begun) return { settled: 0, done: false }
      if (signal.aborted) throw unavailable('The settler does not answer: is housekeeper running?')
      await setTimeout(look_pause_ms, undefined, { signal }).catch(() => {})
    }
  })
}

function settledOf(outcome: object): Settled {
  if ('error' in outcome) throw unavailable(`The settler failed: ${outcome.error}`)
  return Settled.parse(outcome)
}

const unavailable = (message: string) => new CodedError('unavailable', { message })
