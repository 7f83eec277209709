import { BatchReply } from '@tributary/contracts/event'
import { limits } from '@tributary/contracts/limits'
import type { Routes } from '@tributary/contracts/route'
import { makeDurable } from '@tributary/gateway/durable'
import { unpackRecords } from '@tributary/gateway/packed-records'
import { wireBody } from '@tributary/gateway/read-wire'
import { requestFacts } from '@tributary/gateway/request-facts'
import { requireServerKey } from '@tributary/gateway/server-key'
import { underQuota } from '@tributary/gateway/under-quota'
import type { ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { serverBodyErrors, serverHeaders } from '../declared-parts.ts'
import type { RouteDeps } from '../deps.ts'
import { statesAttribution } from '../judge/s2s-rules.ts'
import { bulkAuditKey } from './s2s-audit.ts'
import { purchase, renewal, ServerEvent } from './s2s-event-route.ts'

const ServerBulk = z.object({ events: z.array(ServerEvent).min(1).max(limits.bulk_events_max) })

export const serverBulkRoutes = {
  sendServerEvents: {
    method: 'POST',
    path: '/s2s/events/bulk',
    auth: 's2s',
    tag: 'Events',
    summary: 'Up to 1000 events from a backend',
    description:
      'For backfills. One result an event; what is sent again counts once. An event of the other platform, or one that the key does not allow, refuses the whole request. At most 8 MiB, inflated too. Counts as one request of the key.',
    headers: serverHeaders,
    body: {
      schema: { ServerBulk },
      description: 'JSON, gzipped or not.',
      bytes_max: limits.bulk_body_bytes_max,
      examples: { 'two events': { events: [renewal, purchase] } },
    },
    answers: {
      200: {
        schema: { BatchReply },
        description: 'Every accepted event is in the audit store and in the log.',
        example: {
          accepted: 1,
          rejected: 1,
          results: [
            { event_id: 'renewal-1', status: 'accepted' },
            { event_id: null, status: 'rejected', reason: 'missing_required_fields', field: 'install_uuid' },
          ],
          audit_key: 's2s/bulk/2026-06-01/019e8350-9a00-7000-8000-000000000000.json',
        } satisfies BatchReply,
      },
    },
    errors: [...serverBodyErrors, 'too_many_events'],
    quota: true,
  },
} satisfies Routes

const { sendServerEvents } = serverBulkRoutes

/** POST /s2s/events/bulk. 200 means that the audit store and the log both hold every accepted event. */
export function s2sBulkRoute(app: FastifyInstance, deps: RouteDeps) {
  const { quota, audit, bodies, broker, partitions, geo, now } = deps
  // Steps of docs/rules.md#order-of-checks: 1. and 2. bearer and key, 3. rate of the key (a bulk request counts once),
  // 4. size on the wire (bodyLimit)
  const { path, body } = sendServerEvents
  const options = { bodyLimit: body.bytes_max, onRequest: requireServerKey(deps) }
  app.post(path, options, async (request, reply) => {
    const key = request.serverKey as ServerKeyCredential
    const { app_id, company_id, platform, allowed_events } = key
    const received_at_ms = now()
    const facts = {
      ...{ v: 1 as const, company_id, app_id, platform, source: 'bulk' as const },
      ...statesAttribution(key),
      ...requestFacts(request, received_at_ms),
    }
    const audit_key = bulkAuditKey(received_at_ms)
    const input = { facts, partitions, key: { platform, allowed_events }, geo: geo.tables(), audit_key }
    const batch = await bodies.judge('bulk', wireBody(request), input, (bytes) => request.takeShare(bytes)) // 5. to 10.
    const { accepted, rejected, records, object, answer } = batch
    // 11. quota: a crash after this leaves it used up until it is reconciled
    const reserving = quota.reserve(key, batch, received_at_ms)
    return underQuota(reply, reserving, async () => {
      // 12. audit, 13. log
      await makeDurable(broker, audit.putOnce(`${app_id}/${audit_key}`, object), () => unpackRecords(records))
      // 14. answer
      Object.assign(request.ingest, { accepted, rejected, audit_key })
      return reply.type('application/json; charset=utf-8').send(answer)
    })
  })
}
