import { limits } from '@tributary/contracts/limits'
import { audited, published } from '@tributary/door/durable'
import { requestFacts } from '@tributary/door/request-facts'
import { closeRecords } from '@tributary/service-kit/consumer/event-records'
import type { FastifyInstance } from 'fastify'
import type { RouteDeps } from '../deps.ts'
import { closeReply } from '../judge/batch-reply.ts'
import { identifySdk, requireAuthHeaders, takeSigned } from './sdk-auth.ts'

/** POST /event. 200 means that the audit store and the log both hold every accepted event. */
export function eventRoute(app: FastifyInstance, deps: RouteDeps) {
  const { broker, bodies, credentials, groupCommit, now, partitions, quota } = deps
  // 1. auth headers present, 2. size on the wire (bodyLimit); who sends is looked up first, so that strangers get no memory
  const options = { bodyLimit: limits.sdk_body_bytes_max, onRequest: [requireAuthHeaders, identifySdk(credentials)] }
  app.post('/event', options, async (request, reply) => {
    const received_at_ms = now()
    const { wire, company, app: sender } = takeSigned(request, received_at_ms) // 3. empty body, 4. keys and signature
    const { app_id, company_id, platform } = sender
    const facts = {
      ...{ v: 1 as const, company_id, app_id, platform, source: 'sdk' as const },
      ...requestFacts(request, received_at_ms),
    }
    const body = { wire, encoding: request.headers['content-encoding'] }
    const batch = await bodies.judge('sdk', body, { facts, partitions }, (bytes) => request.hold(bytes)) // 5. to 7.
    const { accepted, rejected, open, line, answer } = batch
    request.ingest.rejected = rejected
    // 8. quota; a crash after this leaves it used up until it is settled
    const spent = await quota.reserve(company, batch.counted, received_at_ms, rejected)
    reply.headers(spent.headers)
    try {
      // 9. audit durable: a crash after this leaves a line whose events the client sends again
      const { audit_key, durable } = groupCommit.append({ company_id, app_id, received_at_ms, member: line })
      Object.assign(request.ingest, { accepted, audit_key })
      await audited(durable)
      // 10. log: a crash after this leaves events the client sends again, dropped as duplicates by the writer
      //     Taken out of `open`, so that memory holds the events once.
      if (open.length > 0) await published(broker.publish(closeRecords(open.splice(0), audit_key)))
      // 11. answer
      return reply.type('application/json; charset=utf-8').send(closeReply(answer, audit_key))
    } catch (error) {
      await spent.giveBack()
      throw error
    }
  })
}
