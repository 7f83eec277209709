import { rotateMasterKey } from '@tributary/tenancy/secrets/rotate-master-key'
import type { FastifyInstance } from 'fastify'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'

/** Encrypts every secret again with the present master key; see `rotateMasterKey`. */
export function masterKeyRoute(app: FastifyInstance, { pool, masterKeys, now }: AdminApiDeps): void {
  app.post('/master-key/rotate', (request) => rotateMasterKey(pool, masterKeys, adminRequest(request, now)))
}
