import { addRoute } from '@tributary/admin-http/add-route'
import { type AskedReplay, noProgress, storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { askOnce } from './ask-once.ts'
import { streamsWork } from './streamed-work.ts'

/** `POST /replays`: has the replayer replay, and answers with a line of `ReplayProgress` a second, whose last says how it ended. */
export function addReplayRoute(app: FastifyInstance, deps: Pick<AdminApiDeps, 'pool' | 'now' | 'logger'>): void {
  const stream = streamsWork(app, deps)
  addRoute(app, storedDataRoutes.startReplay, async ({ body }, request, reply) => {
    const asked: AskedReplay = { ...body, request_id: request.id }
    const ask = () =>
      askOnce(deps, { kind: 'replay', asked, refused: 'replay_running', action: 'replay.start' }, request)
    return stream(reply, { ask, first: noProgress, worker: 'replayer' })
  })
}
