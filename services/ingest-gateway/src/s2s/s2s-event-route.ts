import type { ServerEventReply } from '@tributary/contracts/event'
import { limits } from '@tributary/contracts/limits'
import { makeDurable } from '@tributary/door/durable'
import { wireBody } from '@tributary/door/read-wire'
import { requestFacts } from '@tributary/door/request-facts'
import { requireServerKey } from '@tributary/door/server-key'
import { underQuota } from '@tributary/door/under-quota'
import type { ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import type { FastifyInstance } from 'fastify'
import type { RouteDeps } from '../deps.ts'
import { closeRecords } from '../judge/envelopes.ts'
import { auditServerEvent } from './s2s-audit.ts'

/** POST /s2s/event. 200 means that the audit store and the log both hold the event. */
export function s2sEventRoute(app: FastifyInstance, deps: RouteDeps) {
  const { quota, audit, bodies, broker, partitions, now } = deps
  // 1. bearer and key, 2. per-key rate, 3. size on the wire (bodyLimit)
  const options = { bodyLimit: limits.s2s_body_bytes_max, onRequest: requireServerKey(deps) }
  app.post('/s2s/event', options, async (request, reply): Promise<ServerEventReply> => {
    const key = request.serverKey as ServerKeyCredential
    const { app_id, company_id, platform, allowed_events } = key
    const received_at_ms = now()
    const facts = {
      ...{ v: 1 as const, company_id, app_id, platform, source: 's2s' as const },
      ...requestFacts(request, received_at_ms),
    }
    const input = { facts, partitions, key: { platform, allowed_events } }
    const event = await bodies.judge('event', wireBody(request), input, (bytes) => request.hold(bytes)) // 4. to 6.
    const { event_id } = event
    // 7. quota: a crash after this leaves it used up until it is settled
    return underQuota(reply, quota.reserve(key, 1, received_at_ms), async () => {
      // 8. audit: the re-sent event finds its object again, 9. log
      const auditing = auditServerEvent(audit, app_id, received_at_ms, event)
      const audit_key = await makeDurable(broker, auditing, (key) => closeRecords(event.open, key))
      // 10. answer
      Object.assign(request.ingest, { accepted: 1, audit_key })
      return { accepted: 1, event_id, audit_key }
    })
  })
}
