import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { RetentionRun, retentionRoutes } from '@tributary/contracts/admin/retention'
import { Settled, storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { askJob, findJob } from '@tributary/postgres/jobs'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance } from 'fastify'
import { unavailable } from '../asked/asked-work.ts'
import type { AdminApiDeps } from '../deps.ts'
import { looksUntil } from '../look-until.ts'

/** The settler ends its last statement after `settle_ms_max`, and may first end what others asked for. */
const settled_ms_max = 3 * limits.settle_ms_max

/** `POST /settle`: has the settler settle what is due, for at most `settle_ms_max`; `done` says whether more is due. */
export function addSettleRoute(app: FastifyInstance, { pool, now }: Pick<AdminApiDeps, 'pool' | 'now'>): void {
  const lookUntil = looksUntil(app)
  addRoute(app, storedDataRoutes.settle, async (_input, _request, reply) => {
    const number = await askJob(pool, 'settle', now())
    const look = () => findJob(pool, number)
    const job = await lookUntil(reply, settled_ms_max, look, (found) => found?.outcome != null)
    if (job?.outcome) return settledOf(job.outcome)
    if (job?.begun) return { settled: 0, done: false }
    throw unavailable('The settler does not answer: is housekeeper running?')
  })
}

/** An answer comes after this time, whether or not the run has ended. */
const retention_ms_max = 10_000

/** `POST /retention/run`: has housekeeper run retention, or only count its rows. */
export function addRetentionRoute(app: FastifyInstance, { pool, now }: Pick<AdminApiDeps, 'pool' | 'now'>): void {
  const lookUntil = looksUntil(app)
  addRoute(app, retentionRoutes.runRetention, async ({ body: { dry_run, run: given } }, request, reply) => {
    const run = given ?? (await askJob(pool, dry_run ? 'retention_plan' : 'retention', now()))
    if (given === undefined && !dry_run) {
      const entry = { action: 'retention.run', subject: `${run}`, detail: {} }
      await recordAdminAction(pool, adminRequest(request, now), entry)
    }
    const look = () => findJob(pool, run)
    const job = await lookUntil(reply, retention_ms_max, look, (found) => found === null || found.outcome != null)
    if (job === null)
      throw new CodedError('invalid_field', { field: 'run', message: 'There is no run of this number.' })
    if (job.outcome) return retentionOf(run, job.outcome)
    if (job.begun) return { run, done: false, rows: {}, objects_blanked: 0, objects_deleted: 0 }
    throw unavailable('Retention does not answer: is housekeeper running?')
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
