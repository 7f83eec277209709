import type { AdminRequest } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyRequest } from 'fastify'

/** Who is asking, for `admin_audit_log`. There is one token, so the address tells its callers apart. */
export function adminRequest(
  { caller, client_ip: ip, id: request_id }: FastifyRequest,
  now: () => number,
): AdminRequest {
  const asked = { request_id, now_ms: now(), ip }
  if (caller?.kind !== 'person') return { ...asked, actor: `admin-token@${ip}` }
  const { email: actor, person_id } = caller.session
  return { ...asked, actor, person_id }
}
