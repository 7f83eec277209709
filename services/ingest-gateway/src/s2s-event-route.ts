import { CodedError, type ErrorCode } from '@tributary/contracts/errors'
import type { ServerEventReply } from '@tributary/contracts/event'
import { limits } from '@tributary/contracts/limits'
import { type AcceptedEvent, type EventFault, findEventFault } from '@tributary/domain/accept-event'
import type { ServerKeyCredential } from '@tributary/postgres/credentials'
import { eventRecords } from '@tributary/service-kit/event-records'
import type { FastifyInstance } from 'fastify'
import type { RouteDeps } from './app.ts'
import { audited, published } from './durable.ts'
import { readServerBody } from './read-server-body.ts'
import { requestFacts } from './request-facts.ts'
import { auditServerEvent } from './s2s-audit.ts'
import { mintEventId } from './s2s-event-id.ts'
import { requireKeyFits } from './s2s-rules.ts'
import { requireServerKey } from './server-key-auth.ts'

/** POST /s2s/event. 200 means that the audit store and the log both hold the event. */
export function s2sEventRoute(app: FastifyInstance, deps: RouteDeps) {
  const { credentials, keyRate, quota, audit, broker, partitions, now } = deps
  // 1. bearer and key, 2. per-key rate, 3. size on the wire (bodyLimit)
  const options = { bodyLimit: limits.s2s_body_bytes_max, onRequest: requireServerKey(app, credentials, keyRate) }
  app.post('/s2s/event', options, async (request, reply): Promise<ServerEventReply> => {
    const key = request.serverKey as ServerKeyCredential
    const { app_id, company_id, platform } = key
    const received_at_ms = now()
    const { body, value } = await readServerBody(request, limits.s2s_body_bytes_max) // 4. gunzip, JSON, shape
    requireKeyFits([value], key) // 5.
    const fault = findEventFault(value, 's2s', received_at_ms) // 6.
    if (fault) throw toCodedError(fault)
    const event_id = (value.event_id as string | null | undefined) ?? mintEventId(received_at_ms)

    // 7. quota: a crash after this leaves it used up until it is settled
    const spent = await quota.reserve(key, 1, received_at_ms)
    reply.headers(spent.headers)
    try {
      // 8. audit: a crash after this leaves an object that the re-sent event finds again
      const facts = requestFacts(request, received_at_ms)
      const audit_key = await audited(auditServerEvent(audit, app_id, event_id, facts, body))
      // 9. log: a crash after this leaves an event the client sends again, dropped as a duplicate by the writer
      const shared = { v: 1 as const, company_id, app_id, platform, source: 's2s' as const, ...facts }
      const event = { ...value, event_id } as AcceptedEvent
      await published(broker.publish(eventRecords(shared, [event], audit_key, partitions)))
      // 10. answer
      Object.assign(request.ingest, { accepted: 1, audit_key })
      return { accepted: 1, event_id, audit_key }
    } catch (error) {
      await spent.giveBack()
      throw error
    }
  })
}

const requiredCodes: Record<string, ErrorCode> = {
  install_uuid: 'install_uuid_required',
  event_ts_ms: 'event_ts_ms_required',
  event_name: 'event_name_required',
}

const toCodedError = ({ reason, field }: EventFault): CodedError =>
  reason === 'missing_required_fields'
    ? new CodedError(requiredCodes[field ?? ''] ?? 'bad_json', { field })
    : new CodedError(reason, { field })
