import { BatchReply, NamedEventFields } from '@tributary/contracts/event'
import { limits } from '@tributary/contracts/limits'
import type { Routes } from '@tributary/contracts/route'
import { makeDurable } from '@tributary/gateway/durable'
import { closeRecords } from '@tributary/gateway/event-records'
import { requestFacts } from '@tributary/gateway/request-facts'
import { identifySdk, requireAuthHeaders, takeSigned } from '@tributary/gateway/sdk-keys'
import { underQuota } from '@tributary/gateway/under-quota'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { exampleEvent, present, sdkBodyErrors, sdkHeaders } from '../declared-parts.ts'
import type { RouteDeps } from '../deps.ts'
import { closeReply } from '../judge/batch-reply.ts'

const SdkEvent = NamedEventFields.extend({ event_id: present(NamedEventFields.shape.event_id) })
const SdkBatch = z.object({
  events: z.array(SdkEvent).min(1).max(limits.sdk_batch_events_max),
  sent_at_ms: z
    .number()
    .nullish()
    .describe(
      'When this request was made, by the clock of the device: Unix epoch ms. Corrects install times and the age of events.',
    ),
})

const { event_id, event_ts_ms, install_uuid } = exampleEvent
const sent_at_ms = event_ts_ms + 1000

export const batchRoutes = {
  sendBatch: {
    method: 'POST',
    path: '/event',
    auth: 'sdk',
    tag: 'Events',
    summary: 'A batch of events from an app',
    description: [
      '`X-Service-Signature` is the lower-case hex HMAC-SHA256 of the exact bytes of the body, keyed with the signing secret of',
      'the app (its UTF-8 text). With gzip these are the compressed bytes. The answer is 200 once the credentials, the encoding',
      'and the shape are good, also when events are rejected; then every accepted event is durable.',
      '',
      'At most 500 events, 1 MiB on the wire, 8 MiB inflated. Compress from 10 events on. What is sent again counts once,',
      'if it has its `event_ts_ms`: without it, only for a day.',
    ].join('\n'),
    headers: sdkHeaders,
    body: {
      schema: { SdkBatch },
      description: 'JSON, gzipped or not. An event that is wrong is rejected alone.',
      bytes_max: limits.sdk_body_bytes_max,
      examples: {
        'one event': { events: [{ event_name: 'level_up', ...exampleEvent, props: { level: 3 } }], sent_at_ms },
        'an install': {
          events: [
            {
              event_id: 'install-1',
              event_name: 'app_install',
              event_ts_ms,
              install_uuid,
              device: { os: 'android', os_version: '14' },
            },
            { event_id: 'alias-1', event_name: '_user_alias', event_ts_ms, install_uuid, user_id: 'user-17' },
          ],
          sent_at_ms,
        },
      },
    },
    answers: {
      200: {
        schema: { BatchReply },
        description: 'Every accepted event is in the audit store and in the log.',
        example: {
          accepted: 1,
          rejected: 1,
          results: [
            { event_id, status: 'accepted' },
            {
              ...{ event_id: 'e-2', status: 'rejected', reason: 'invalid_field', field: 'revenue' },
              message: 'revenue is a number, not text, of at most 1000000000 in amount.',
            },
          ],
          audit_key: 'audit/2026/06/01/co_1/app_1/1780315201000-1f2e-0.jsonl.gz',
        } satisfies BatchReply,
      },
    },
    errors: [...sdkBodyErrors, 'bad_batch_shape', 'cap_exceeded'],
    cors: true,
    quota: true,
    signed: true,
  },
} satisfies Routes

const { sendBatch } = batchRoutes

/** POST /event. 200 means that the audit store and the log both hold every accepted event. */
export function eventRoute(app: FastifyInstance, deps: RouteDeps) {
  const { broker, bodies, credentials, geo, groupCommit, now, partitions, quota } = deps
  // Steps of docs/rules.md#order-of-checks: 1. auth headers present, 2. size on the wire (bodyLimit). The sender is
  // looked up first, so that strangers get no memory.
  const options = { bodyLimit: sendBatch.body.bytes_max, onRequest: [requireAuthHeaders, identifySdk(credentials)] }
  app.post(sendBatch.path, options, async (request, reply) => {
    const received_at_ms = now()
    const { wire, company, app: sender } = takeSigned(request, received_at_ms) // 3. to 5.
    const { app_id, company_id, platform } = sender
    const facts = {
      ...{ v: 1 as const, company_id, app_id, platform, source: 'sdk' as const },
      ...requestFacts(request, received_at_ms),
      country: geo.lookUp(request.client_ip).country ?? '',
    }
    const body = { wire, encoding: request.headers['content-encoding'] }
    const batch = await bodies.judge('sdk', body, { facts, partitions }, (bytes) => request.takeShare(bytes)) // 6. to 9.
    const { accepted, rejected, open, line, answer } = batch
    request.ingest.rejected = rejected
    // 10. quota; a crash after this leaves it used up until it is reconciled
    const reserving = quota.reserve(company, batch, received_at_ms)
    return underQuota(reply, reserving, async () => {
      // 11. audit, 12. log
      const { audit_key, durable } = groupCommit.append({
        owner: `${company_id}/${app_id}`,
        received_at_ms,
        member: line,
      })
      Object.assign(request.ingest, { accepted, audit_key })
      // Taken out of `open`, so that memory holds the events once.
      await makeDurable(broker, durable, () => closeRecords(open.splice(0), audit_key))
      // 13. answer
      return reply.type('application/json; charset=utf-8').send(closeReply(answer, audit_key))
    })
  })
}
