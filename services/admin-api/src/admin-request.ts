import type { AdminRequest } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyRequest } from 'fastify'

/** Who is asking, for `admin_audit_log`. There is one token, so the address tells callers apart. */
export function adminRequest(request: FastifyRequest, now: () => number): AdminRequest {
  return { actor: `admin-token@${request.client_ip}`, request_id: request.id, now_ms: now() }
}
