import { storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { limits } from '@tributary/contracts/limits'
import type { FastifyInstance } from 'fastify'
import { addRoute } from '../add-route.ts'
import type { AdminApiDeps } from '../deps.ts'
import { openSettler } from '../settler.ts'

/**
 * `POST /settle`: settles what is due until the caller leaves, the process stops or `settle_ms_max` is over; `done` says whether
 * more is due. It may run beside the job.
 */
export function addSettleRoute(app: FastifyInstance, deps: AdminApiDeps): void {
  const settle = openSettler(deps)
  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort())
  addRoute(app, storedDataRoutes.settle, async (_input, _request, reply) => {
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    const signal = AbortSignal.any([stop.signal, left.signal, AbortSignal.timeout(limits.settle_ms_max)])
    return settle({ quiet_ms: 0, signal })
  })
}
