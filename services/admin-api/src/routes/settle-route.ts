import { setTimeout } from 'node:timers/promises'
import { RetentionRun, retentionRoutes } from '@tributary/contracts/admin/retention'
import { Settled, storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { askJob, findJob } from '@tributary/postgres/jobs'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance } from 'fastify'
import { addRoute } from '../add-route.ts'
import { adminRequest } from '../admin-request.ts'
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

/** An answer comes after this time, whether or not the run has ended. */
const answer_ms_max = 10_000

/** `POST /retention/run`: has housekeeper run retention, or only count its rows. */
export function addRetentionRoute(app: FastifyInstance, { pool, now }: Pick<AdminApiDeps, 'pool' | 'now'>): void {
  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort(unavailable('admin-api ends.')))
  addRoute(app, retentionRoutes.runRetention, async ({ body: { dry_run, run: given } }, request, reply) => {
    const run = given ?? (await askJob(pool, dry_run ? 'retention_plan' : 'retention', now()))
    if (given === undefined && !dry_run) {
      const entry = { action: 'retention.run', subject: `${run}`, detail: {} }
      await recordAdminAction(pool, adminRequest(request, now), entry)
    }
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    const signal = AbortSignal.any([stop.signal, left.signal, AbortSignal.timeout(answer_ms_max)])
    for (;;) {
      const job = await findJob(pool, run)
      if (job === null)
        throw new CodedError('invalid_field', { field: 'run', message: 'There is no run of this number.' })
      if (job.outcome) return retentionOf(run, job.outcome)
      stop.signal.throwIfAborted()
      if (signal.aborted && !job.begun) throw unavailable('Retention does not answer: is housekeeper running?')
      if (signal.aborted) return { run, done: false, rows: {}, objects_blanked: 0, objects_deleted: 0 }
      await setTimeout(look_pause_ms, undefined, { signal }).catch(() => {})
    }
  })
}

function retentionOf(run: number, outcome: object): RetentionRun {
  if ('error' in outcome) throw unavailable(`Retention failed: ${outcome.error}`)
  const found = RetentionRun.safeParse({ run, done: true, ...outcome })
  if (!found.success) throw new CodedError('invalid_field', { field: 'run', message: 'This is no run of retention.' })
  return found.data
}

function settledOf(outcome: object): Settled {
  if ('error' in outcome) throw unavailable(`The settler failed: ${outcome.error}`)
  return Settled.parse(outcome)
}

const unavailable = (message: string) => new CodedError('unavailable', { message })
