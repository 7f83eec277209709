import { addRoute } from '@tributary/admin-http/add-route'
import { getApp } from '@tributary/admin-http/authorize'
import { type FeedItem, feedKey, watched_key } from '@tributary/contracts/admin/live/feed'
import { liveRoutes } from '@tributary/contracts/admin/live/live'
import { limits } from '@tributary/contracts/limits'
import type { FastifyInstance } from 'fastify'
import { createFeedReaders } from './feed-readers.ts'
import { addFollowRoute } from './follow/follow-route.ts'
import { createReadKept } from './kept.ts'
import { endAfter, type LiveDeps, type LiveParts, mayReadRaw, send } from './stream-answer.ts'
import { createStreams } from './streams.ts'
import { createViewer, fits, type Shown, toMessage, toShown } from './viewer.ts'

/** Routes that stream what comes in for an app, until the session ends, or who watches goes away. */
export function addLiveRoutes(app: FastifyInstance, given: Omit<LiveDeps, 'elapsed'>): void {
  const deps = { ...given, elapsed: () => performance.now() }
  const { pool, keyValue, now } = deps
  const apps = createFeedReaders<FeedItem, Shown>({ keyValue, ring: watched_key, ringOf: feedKey, toShown })
  const streams = createStreams({ pool, now })
  app.addHook('preClose', async () => {
    apps.close()
    streams.close()
  })
  const parts: LiveParts = {
    apps,
    openStream({ caller }, reply, company_id) {
      const stream = streams.open(caller?.kind === 'person' ? caller : null, company_id)
      reply.raw.once('close', () => stream.body.destroy())
      if (reply.raw.destroyed) stream.body.destroy() // who asked went away meanwhile
      stream.write(`retry: ${limits.live_watch_ms}\n\n`)
      return stream
    },
  }
  addWatchRoute(app, deps, parts)
  addFollowRoute(app, deps, parts)
}

/** `GET /apps/:app_id/live`: the last refusals, then what comes in. */
function addWatchRoute(app: FastifyInstance, { pool, keyValue, elapsed }: LiveDeps, parts: LiveParts): void {
  const readKept = createReadKept(keyValue)
  addRoute(app, liveRoutes.watchApp, async ({ query: { seconds, ...filter } }, request, reply) => {
    const { app_id, company_id } = await getApp(pool, request)
    const full = mayReadRaw(request, { app_id, company_id })
    const kept = await readKept(app_id)
    const stream = parts.openStream(request, reply, company_id)
    const fitting = kept.filter((one) => fits(filter, one))
    stream.write(fitting.map(toMessage).join(''))
    if (seconds !== 0) {
      const viewer = createViewer({ filter, full, elapsed, outlet: stream })
      stream.onEnd(await parts.apps.watch({ id: app_id, company_id }, viewer))
    }
    if (seconds !== undefined) endAfter(stream, seconds)
    return send(reply, stream)
  })
}
