import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { acceptBatch } from '@tributary/domain/accept-batch'
import { countOnce } from '@tributary/domain/count-once'
import type { ServerKeyCredential } from '@tributary/postgres/credentials'
import { eventRecords } from '@tributary/service-kit/event-records'
import type { FastifyInstance } from 'fastify'
import type { RouteDeps } from './app.ts'
import { closeReply, openReply } from './batch-reply.ts'
import { audited, published } from './durable.ts'
import { readServerBody } from './read-server-body.ts'
import { requestFacts } from './request-facts.ts'
import { auditServerBulk } from './s2s-audit.ts'
import { mintEventId } from './s2s-event-id.ts'
import { requireKeyFits } from './s2s-rules.ts'
import { requireServerKey } from './server-key-auth.ts'

/** POST /s2s/events/bulk. 200 means that the audit store and the log both hold every accepted event. */
export function s2sBulkRoute(app: FastifyInstance, deps: RouteDeps) {
  const { credentials, keyRate, quota, audit, broker, partitions, now } = deps
  // 1. bearer and key, 2. per-key rate (a bulk request counts once), 3. size on the wire (bodyLimit)
  const options = { bodyLimit: limits.bulk_body_bytes_max, onRequest: requireServerKey(app, credentials, keyRate) }
  app.post('/s2s/events/bulk', options, async (request, reply) => {
    const key = request.serverKey as ServerKeyCredential
    const { app_id, company_id, platform } = key
    const received_at_ms = now()
    const { body, value } = await readServerBody(request, limits.bulk_body_bytes_max) // 4. gunzip, JSON
    const events = readEvents(value) // 5. shape
    requireKeyFits(events, key) // 6. whole request
    const mint = () => mintEventId(received_at_ms)
    const verdict = acceptBatch(events, 'bulk', received_at_ms, mint) // 7.
    const { accepted, rejected, minted } = verdict

    // 8. quota: a crash after this leaves it used up until it is settled
    const events_rejected = events.length - accepted.length
    const spent = await quota.reserve(key, countOnce(accepted, received_at_ms), received_at_ms, events_rejected)
    reply.headers(spent.headers)
    try {
      // 9. audit: a crash after this leaves an object whose events the client sends again
      const facts = requestFacts(request, received_at_ms)
      const audit_key = await audited(auditServerBulk(audit, app_id, mint(), facts, minted, body))
      // 10. log: a crash after this leaves events the client sends again, dropped as duplicates by the writer
      const shared = { v: 1 as const, company_id, app_id, platform, source: 'bulk' as const, ...facts }
      const records = eventRecords(shared, accepted, audit_key, partitions)
      if (records.length > 0) await published(broker.publish(records))
      // 11. answer
      Object.assign(request.ingest, { accepted: accepted.length, rejected, audit_key })
      return reply.type('application/json; charset=utf-8').send(closeReply(openReply(verdict), audit_key))
    } catch (error) {
      await spent.giveBack()
      throw error
    }
  })
}

function readEvents({ events }: Record<string, unknown>): readonly unknown[] {
  if (!Array.isArray(events) || events.length === 0) {
    throw new CodedError('bad_json', { field: 'events', message: '`events` is an array of at least one event.' })
  }
  if (events.length > limits.bulk_events_max) throw new CodedError('too_many_events')
  return events
}
