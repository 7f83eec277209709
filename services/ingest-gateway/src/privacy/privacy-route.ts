import type { AuditStore } from '@tributary/audit-store/audit-store'
import { installPartition } from '@tributary/broker/partition'
import { ErasureAsked, ErasureReply, type ErasureRequest } from '@tributary/contracts/erasure'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import type { Routes } from '@tributary/contracts/route'
import { topics } from '@tributary/contracts/topics'
import { type AskedErasure, auditedErasure } from '@tributary/domain/erasure/audited-request'
import { makeDurable } from '@tributary/gateway/durable'
import { identifySdk, requireAuthHeaders, takeSigned } from '@tributary/gateway/sdk-keys'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { exampleEvent, sdkBodyErrors, sdkHeaders } from '../declared-parts.ts'
import type { RouteDeps } from '../deps.ts'

export const privacyRoutes = {
  askForErasure: {
    method: 'POST',
    path: '/privacy/delete',
    auth: 'sdk',
    tag: 'Privacy',
    summary: 'Request the erasure of an install',
    description:
      'Signed like `/event`, with the same limits of the body. Queues the install: the eraser erases all that it finds of it each night at 02:00 UTC. While a request for the install is queued, another one is answered alike and stores nothing new; an app may make 100 new requests in any 60 s. Beyond that, addresses that have sent few may make more: 100 for installs whose events were taken lately, and 50 for others.',
    headers: sdkHeaders,
    body: {
      schema: { ErasureAsked },
      description: 'JSON, gzipped or not.',
      bytes_max: limits.sdk_body_bytes_max,
      examples: { 'an install': { install_uuid: exampleEvent.install_uuid } },
    },
    answers: {
      202: { schema: { ErasureReply }, description: 'The request is durable.', example: { ok: true, queued: true } },
    },
    errors: [...sdkBodyErrors, 'install_uuid_required', 'invalid_field', 'rate_limited'],
    cors: true,
  },
} satisfies Routes

const { askForErasure } = privacyRoutes

/** POST /privacy/delete. 202 means that the audit store and the log both hold the request; no quota is asked. */
export function privacyRoute(app: FastifyInstance, deps: RouteDeps) {
  const { audit, broker, credentials, erasures, knownInstalls, partitions } = deps
  // Steps 1 to 8 are those of docs/rules.md#order-of-checks: 1. auth headers present, 2. size on the wire (bodyLimit)
  const options = { bodyLimit: askForErasure.body.bytes_max, onRequest: [requireAuthHeaders, identifySdk(credentials)] }
  app.post(askForErasure.path, options, async (request, reply) => {
    const asked = await takeRequest(request, deps) // 3. to 8.
    // 9. to 12. queued unless a request for this install is (queued-erasures.ts)
    const asker = {
      address: addressBlock(request.client_ip),
      is_known: knownInstalls.has(`${asked.app_id}/${asked.install_uuid}`),
    }
    await erasures.queueOnce(asked, asker, async () => {
      // 11. audit, and log: a record that comes again only moves the erasure to a later time
      request.ingest.audit_key = await makeDurable(broker, auditErasure(audit, asked), (audit_key) => [
        toRecord({ ...asked, audit_key }, partitions),
      ])
    })
    return reply.status(202).send({ ok: true, queued: true }) // 13.
  })
}

/** The checks of `/event` in their order (docs/rules.md#taking-a-request). */
async function takeRequest(request: FastifyRequest, { bodies, now }: RouteDeps): Promise<AskedErasure> {
  const { wire, app } = takeSigned(request, now()) // 3. to 5.
  const { app_id, company_id } = app
  const body = { wire, encoding: request.headers['content-encoding'] }
  const { install_uuid } = await bodies.judge('privacy', body, { facts: { company_id, app_id } }, (bytes) =>
    request.takeShare(bytes),
  ) // 6. to 8.
  // The time is taken last, so that it is not before anything that was received while this request was judged.
  return { v: 1, company_id, app_id, install_uuid, requested_at_ms: now() }
}

/** Makes a request durable as its audit object, and gives its key without the app. */
async function auditErasure(audit: Pick<AuditStore, 'putOnce'>, asked: AskedErasure): Promise<string> {
  const { audit_key, stored_key, content } = auditedErasure(asked)
  await audit.putOnce(stored_key, content)
  return audit_key
}

function toRecord(request: ErasureRequest, partitions: number) {
  const { app_id, install_uuid } = request
  return {
    topic: topics.erasuresRequested.name,
    partition: installPartition(app_id, install_uuid, partitions),
    key: `${app_id}/${install_uuid}`,
    value: Buffer.from(JSON.stringify(request)),
  }
}
