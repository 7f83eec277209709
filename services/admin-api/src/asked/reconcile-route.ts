import { addRoute } from '@tributary/admin-http/add-route'
import { type AskedReconcile, noReconcileProgress, reconcileRoutes } from '@tributary/contracts/admin/reconcile'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { askOnce } from './ask-once.ts'
import { streamsWork } from './streamed-work.ts'

/** `POST /reconcile`: has the reconciler compare, and answers with a line of `ReconcileProgress` a second, whose last has the result. */
export function addReconcileRoute(app: FastifyInstance, deps: Pick<AdminApiDeps, 'pool' | 'now' | 'logger'>): void {
  const stream = streamsWork(app, deps)
  addRoute(app, reconcileRoutes.reconcile, async ({ body }, request, reply) => {
    const asked: AskedReconcile = { ...body, request_id: request.id }
    const wanted = { kind: 'reconcile', asked, refused: 'reconcile_running', action: 'reconcile.start' } as const
    return stream(reply, {
      ask: () => askOnce(deps, wanted, request),
      first: noReconcileProgress,
      worker: 'reconciler',
    })
  })
}
