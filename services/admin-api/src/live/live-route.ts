import { addRoute } from '@tributary/admin-http/add-route'
import { getApp } from '@tributary/admin-http/authorize'
import { membershipsOf } from '@tributary/admin-http/caller'
import { liveRoutes } from '@tributary/contracts/admin/live/live'
import { managers } from '@tributary/contracts/admin/people/roles'
import { limits } from '@tributary/contracts/limits'
import { mayGive } from '@tributary/domain/people/rights'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { createFeedReaders } from './feed-readers.ts'
import { createStreams, type Stream } from './streams.ts'
import { createViewer, fits, toMessage } from './viewer.ts'

type LiveDeps = Pick<AdminApiDeps, 'pool' | 'keyValue' | 'now'>

/** `GET /apps/:id/live`: the last refusals, then what comes in, until the session ends, or who watches goes away. */
export function addLiveRoute(app: FastifyInstance, { pool, keyValue, now }: LiveDeps): void {
  const elapsed = () => performance.now()
  const readers = createFeedReaders(keyValue)
  const streams = createStreams({ pool, now })
  app.addHook('preClose', async () => {
    readers.close()
    streams.close()
  })

  addRoute(app, liveRoutes.watchApp, async ({ params: { id }, query: { seconds, ...filter } }, request, reply) => {
    const watched = await getApp(pool, request)
    const full = mayReadRaw(request, watched)
    const kept = await readers.kept(id)
    const { caller } = request
    const stream = streams.open(caller?.kind === 'person' ? caller : null, watched.company_id)
    reply.raw.once('close', () => stream.body.destroy())
    if (reply.raw.destroyed) stream.body.destroy() // who asked went away meanwhile
    const fitting = kept.filter((one) => fits(filter, one))
    stream.write(`retry: ${limits.live_watch_ms}\n\n${fitting.map(toMessage).join('')}`)
    if (seconds !== 0) {
      const viewer = createViewer({ filter, full, elapsed, outlet: stream })
      stream.onEnd(await readers.watch(watched, viewer))
    }
    if (seconds !== undefined) endAfter(stream, seconds)
    // Left open, the connection would hold up the stop of the process.
    reply.headers({ 'cache-control': 'no-store', connection: 'close', 'x-accel-buffering': 'no' })
    return reply.type('text/event-stream; charset=utf-8').send(stream.body)
  })
}

function endAfter(stream: Stream, seconds: number): void {
  const timer = setTimeout(() => stream.end('over'), seconds * 1000)
  stream.onEnd(() => clearTimeout(timer))
}

/** Whether a caller may see raw JSON and addresses of an app. */
function mayReadRaw(request: FastifyRequest, app: { app_id: string; company_id: string }): boolean {
  const memberships = membershipsOf(request)
  return memberships === null || mayGive(managers, memberships, app)
}
