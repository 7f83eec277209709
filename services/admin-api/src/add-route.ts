import { limits } from '@tributary/contracts/limits'
import type { Route, RouteChecked, RouteOutput } from '@tributary/contracts/route'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readInput } from './read-input.ts'

/** Answers a declared route. The handler is given what the declaration allows, and gives what it promises. */
export function addRoute<R extends Route>(
  app: FastifyInstance,
  route: R,
  handle: (
    input: RouteChecked<R>,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => RouteOutput<R> | FastifyReply | Promise<RouteOutput<R> | FastifyReply>,
): void {
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: route.body?.bytes_max ?? limits.body_bytes_max_default,
    handler: async (request, reply) => handle(readInput(route, request), request, reply),
  })
}
