import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { systemRoutes } from '@tributary/contracts/admin/system'
import { rotateMasterKey } from '@tributary/tenancy/secrets/rotate-master-key'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** The state of consumers and bindings, and the rotation of the master key (see `rotateMasterKey`). */
export function addSystemRoutes(app: FastifyInstance, { pool, masterKeys, status, now }: AdminApiDeps): void {
  addRoute(app, systemRoutes.getStatus, () => status())
  addRoute(app, systemRoutes.rotateMasterKey, (_input, request) =>
    rotateMasterKey(pool, masterKeys, adminRequest(request, now)),
  )
}
