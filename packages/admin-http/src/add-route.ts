import { limits } from '@tributary/contracts/limits'
import type { Route, RouteChecked, RouteOutput } from '@tributary/contracts/route'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/**
 * Answers a declared route. The handler is given what the declaration allows, from callers that it allows (`authenticate`,
 * `authorize`), and gives what it promises.
 */
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
    config: { declared: route },
    handler: async (request, reply) => handle(request.input as RouteChecked<R>, request, reply),
  })
}
