import { limits } from '@tributary/contracts/limits'
import type { Routes } from '@tributary/contracts/route'
import { openDoor } from '@tributary/gateway/open-door'
import type { FastifyPluginAsync } from 'fastify'
import { openClickFeed } from './click-feed.ts'
import { createClickLog } from './click-log.ts'
import type { LinkGatewayDeps } from './deps.ts'
import { linkRoute, linkRoutes } from './link-route.ts'
import { countUnwritten } from './unwritten-clicks.ts'

/** The routes of this service. */
export const declaredRoutes = linkRoutes satisfies Routes

/** `GET /l/:link_id` (docs/rules.md#tracking-links) as a fastify plugin. */
export const linkGateway =
  (gateway: LinkGatewayDeps): FastifyPluginAsync =>
  async (app) => {
    const clicks = createClickLog(gateway)
    const unwritten = countUnwritten((click) => clicks.record(click))
    const flushing = setInterval(() => unwritten.flush(), limits.clicks_window_ms).unref()
    app.addHook('onClose', () => {
      clearInterval(flushing)
      unwritten.flush()
      return clicks.close()
    })
    // Anyone may click, so beside events clicks get at most half of what a process may have in flight.
    openDoor(app, { ...gateway, strangers: 'links' })
    linkRoute(app, { ...gateway, clicks, feed: openClickFeed(app, gateway), unwritten })
  }
