import { NamedEventFields, ServerEventReply } from '@tributary/contracts/event'
import { limits } from '@tributary/contracts/limits'
import type { Routes } from '@tributary/contracts/route'
import { makeDurable } from '@tributary/gateway/durable'
import { closeRecords } from '@tributary/gateway/event-records'
import { wireBody } from '@tributary/gateway/read-wire'
import { requestFacts } from '@tributary/gateway/request-facts'
import { requireServerKey } from '@tributary/gateway/server-key'
import { underQuota } from '@tributary/gateway/under-quota'
import type { ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import type { FastifyInstance } from 'fastify'
import { exampleEvent, present, serverBodyErrors, serverHeaders } from '../declared-parts.ts'
import type { RouteDeps } from '../deps.ts'
import { statesAttribution } from '../judge/s2s-rules.ts'
import { auditServerEvent } from './s2s-audit.ts'

export const ServerEvent = NamedEventFields.extend({ event_ts_ms: present(NamedEventFields.shape.event_ts_ms) })

/** Events of the examples. */
export const renewal = {
  event_id: 'renewal-1',
  event_name: 'subscription_renewed',
  event_ts_ms: exampleEvent.event_ts_ms,
  install_uuid: exampleEvent.install_uuid,
  user_id: 'user-17',
  revenue: 9.99,
  currency: 'EUR',
  transaction_id: 'GPA.1',
  product_id: 'gold_monthly',
}
export const purchase = { ...renewal, event_id: 'purchase-1', event_name: 'purchase', transaction_id: 'GPA.2' }

export const serverEventRoutes = {
  sendServerEvent: {
    method: 'POST',
    path: '/s2s/event',
    auth: 's2s',
    tag: 'Events',
    summary: 'One event from a backend',
    description:
      'Give each event an `event_id`, so that it can be sent again; without one the service makes one and no retry is safe. Choose ids that a device cannot know. At most 256 KiB, inflated too.',
    headers: serverHeaders,
    body: {
      schema: { ServerEvent },
      description: 'JSON, gzipped or not.',
      bytes_max: limits.s2s_body_bytes_max,
      examples: { 'a renewal': renewal, 'a purchase': purchase },
    },
    answers: {
      200: {
        schema: { ServerEventReply },
        description: 'The event is in the audit store and in the log.',
        example: { accepted: 1, event_id: 'renewal-1', audit_key: 's2s/2026-06-01/renewal-1.json' },
      },
    },
    errors: [
      ...serverBodyErrors,
      'install_uuid_required',
      'event_ts_ms_required',
      'event_name_required',
      'event_ts_ms_out_of_range',
      'bad_event_id',
      'invalid_field',
    ],
    quota: true,
  },
} satisfies Routes

const { sendServerEvent } = serverEventRoutes

/** POST /s2s/event. 200 means that the audit store and the log both hold the event. */
export function s2sEventRoute(app: FastifyInstance, deps: RouteDeps) {
  const { quota, audit, bodies, broker, partitions, geo, now } = deps
  // Steps of docs/rules.md#order-of-checks: 1. and 2. bearer and key, 3. rate of the key,
  // 4. size on the wire (bodyLimit)
  const { path, body } = sendServerEvent
  const options = { bodyLimit: body.bytes_max, onRequest: requireServerKey(deps) }
  app.post(path, options, async (request, reply): Promise<ServerEventReply> => {
    const key = request.serverKey as ServerKeyCredential
    const { app_id, company_id, platform, allowed_events } = key
    const received_at_ms = now()
    const facts = {
      ...{ v: 1 as const, company_id, app_id, platform, source: 's2s' as const },
      ...statesAttribution(key),
      ...requestFacts(request, received_at_ms),
    }
    const input = { facts, partitions, key: { platform, allowed_events }, geo: geo.tables() }
    const event = await bodies.judge('event', wireBody(request), input, (bytes) => request.takeShare(bytes)) // 5. to 10.
    const { event_id, body_bytes } = event
    // 11. quota: a crash after this leaves it used up until it is reconciled
    return underQuota(reply, quota.reserve(key, { counted: 1, body_bytes }, received_at_ms), async () => {
      // 12. audit: the re-sent event finds its object again, 13. log
      const auditing = auditServerEvent(audit, app_id, received_at_ms, event)
      const audit_key = await makeDurable(broker, auditing, (key) => closeRecords(event.open, key))
      // 14. answer
      Object.assign(request.ingest, { accepted: 1, audit_key })
      return { accepted: 1, event_id, audit_key }
    })
  })
}
