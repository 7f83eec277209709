import type { Routes } from '@tributary/contracts/route'
import { openDoor } from '@tributary/gateway/open-door'
import type { FastifyPluginAsync } from 'fastify'
import { createCounters } from './counters.ts'
import type { PostbackGatewayDeps } from './deps.ts'
import { notificationRoutes } from './notifications/notification-routes.ts'
import { receiveNotifications } from './notifications/receive-notifications.ts'
import { aakRoutes, skanRoutes } from './postback-routes.ts'
import { keepContentType, receivePostbacks } from './receive-postbacks.ts'

/** The routes of this service. */
export const declaredRoutes = { ...skanRoutes, ...aakRoutes, ...notificationRoutes } satisfies Routes

/**
 * The addresses that Apple's devices send postbacks to (docs/rules.md#postbacks), and stores their notifications
 * (docs/receipts.md#notifications-of-the-stores), as a fastify plugin.
 */
export const postbackGateway =
  (gateway: PostbackGatewayDeps): FastifyPluginAsync =>
  async (app) => {
    keepContentType(app)
    openDoor(app, { ...gateway, strangers: 'postbacks' })
    const counters = createCounters(gateway)
    receivePostbacks(app, gateway, counters)
    receiveNotifications(app, gateway, counters)
  }
