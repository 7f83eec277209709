import { limits } from '@tributary/contracts/limits'
import { makeDurable } from '@tributary/door/durable'
import { wireBody } from '@tributary/door/read-wire'
import { requestFacts } from '@tributary/door/request-facts'
import { requireServerKey } from '@tributary/door/server-key'
import { underQuota } from '@tributary/door/under-quota'
import type { ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import type { FastifyInstance } from 'fastify'
import type { RouteDeps } from '../deps.ts'
import { bulkAuditKey } from './s2s-audit.ts'

/** POST /s2s/events/bulk. 200 means that the audit store and the log both hold every accepted event. */
export function s2sBulkRoute(app: FastifyInstance, deps: RouteDeps) {
  const { quota, audit, bodies, broker, partitions, now } = deps
  // 1. bearer and key, 2. per-key rate (a bulk request counts once), 3. size on the wire (bodyLimit)
  const options = { bodyLimit: limits.bulk_body_bytes_max, onRequest: requireServerKey(deps) }
  app.post('/s2s/events/bulk', options, async (request, reply) => {
    const key = request.serverKey as ServerKeyCredential
    const { app_id, company_id, platform, allowed_events } = key
    const received_at_ms = now()
    const facts = {
      ...{ v: 1 as const, company_id, app_id, platform, source: 'bulk' as const },
      ...requestFacts(request, received_at_ms),
    }
    const audit_key = bulkAuditKey(received_at_ms)
    const input = { facts, partitions, key: { platform, allowed_events }, audit_key }
    const batch = await bodies.judge('bulk', wireBody(request), input, (bytes) => request.hold(bytes)) // 4. to 7.
    const { accepted, rejected, records, object, answer } = batch
    // 8. quota: a crash after this leaves it used up until it is settled
    const reserving = quota.reserve(key, batch.counted, received_at_ms, rejected)
    return underQuota(reply, reserving, async () => {
      // 9. audit, 10. log
      await makeDurable(broker, audit.putOnce(`${app_id}/${audit_key}`, object), () => records)
      // 11. answer
      Object.assign(request.ingest, { accepted, rejected, audit_key })
      return reply.type('application/json; charset=utf-8').send(answer)
    })
  })
}
