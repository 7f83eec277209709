import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** The state of consumers and bindings, for `tributary status`. */
export function statusRoute(app: FastifyInstance, { status }: AdminApiDeps): void {
  app.get('/status', async () => status())
}
