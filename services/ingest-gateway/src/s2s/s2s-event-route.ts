import type { ServerEventReply } from '@tributary/contracts/event'
import { limits } from '@tributary/contracts/limits'
import { audited, published } from '@tributary/door/durable'
import { requestFacts } from '@tributary/door/request-facts'
import { closeRecords } from '@tributary/service-kit/consumer/event-records'
import type { ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import type { FastifyInstance } from 'fastify'
import type { RouteDeps } from '../deps.ts'
import { auditServerEvent } from './s2s-audit.ts'
import { requireServerKey, serverBody } from './server-key-auth.ts'

/** POST /s2s/event. 200 means that the audit store and the log both hold the event. */
export function s2sEventRoute(app: FastifyInstance, deps: RouteDeps) {
  const { credentials, keyRate, quota, audit, bodies, broker, partitions, now } = deps
  // 1. bearer and key, 2. per-key rate, 3. size on the wire (bodyLimit)
  const options = { bodyLimit: limits.s2s_body_bytes_max, onRequest: requireServerKey(app, credentials, keyRate) }
  app.post('/s2s/event', options, async (request, reply): Promise<ServerEventReply> => {
    const key = request.serverKey as ServerKeyCredential
    const { app_id, company_id, platform, allowed_events } = key
    const received_at_ms = now()
    const facts = {
      ...{ v: 1 as const, company_id, app_id, platform, source: 's2s' as const },
      ...requestFacts(request, received_at_ms),
    }
    const input = { facts, partitions, key: { platform, allowed_events } }
    const event = await bodies.judge('event', serverBody(request), input, (bytes) => request.hold(bytes)) // 4. to 6.
    const { event_id } = event
    // 7. quota: a crash after this leaves it used up until it is settled
    const spent = await quota.reserve(key, 1, received_at_ms)
    reply.headers(spent.headers)
    try {
      // 8. audit: a crash after this leaves an object that the re-sent event finds again
      const audit_key = await audited(auditServerEvent(audit, app_id, received_at_ms, event))
      // 9. log: a crash after this leaves an event the client sends again, dropped as a duplicate by the writer
      await published(broker.publish(closeRecords(event.open, audit_key)))
      // 10. answer
      Object.assign(request.ingest, { accepted: 1, audit_key })
      return { accepted: 1, event_id, audit_key }
    } catch (error) {
      await spent.giveBack()
      throw error
    }
  })
}
