import type { Routes } from '@tributary/contracts/route'
import { openDoor } from '@tributary/gateway/open-door'
import type { FastifyPluginAsync } from 'fastify'
import type { PostbackGatewayDeps } from './deps.ts'
import { aakRoutes, skanRoutes } from './postback-routes.ts'
import { keepContentType, receivePostbacks } from './receive-postbacks.ts'

/** The routes of this service. */
export const declaredRoutes = { ...skanRoutes, ...aakRoutes } satisfies Routes

/** The addresses that Apple's devices send postbacks to (docs/rules.md#postbacks), as a fastify plugin. */
export const postbackGateway =
  (gateway: PostbackGatewayDeps): FastifyPluginAsync =>
  async (app) => {
    keepContentType(app)
    openDoor(app, { ...gateway, strangers: 'postbacks' })
    receivePostbacks(app, gateway)
  }
