import type { AuditStore } from '@tributary/audit-store/audit-store'
import { installPartition } from '@tributary/broker/partition'
import type { ErasureRequest } from '@tributary/contracts/erasure'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { utcDay } from '@tributary/domain/utc-day'
import { audited, published } from '@tributary/door/durable'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RouteDeps } from '../deps.ts'
import { identifySdk, requireAuthHeaders, takeSigned } from '../sdk/sdk-auth.ts'

/** POST /privacy/delete. 202 means that the audit store and the log both hold the request; no quota is asked. */
export function privacyRoute(app: FastifyInstance, deps: RouteDeps) {
  const { audit, broker, credentials, erasures, partitions } = deps
  // 1. auth headers present, 2. size on the wire (bodyLimit)
  const options = { bodyLimit: limits.sdk_body_bytes_max, onRequest: [requireAuthHeaders, identifySdk(credentials)] }
  app.post('/privacy/delete', options, async (request, reply) => {
    const asked = await takeRequest(request, deps) // 3. to 7.
    // 8. to 11. queued unless a request for this install is (queued-erasures.ts)
    await erasures.queueOnce(asked.app_id, asked.install_uuid, async () => {
      // 10. audit durable: a crash after this leaves an object that asks for what the client asks for again
      const audit_key = await audited(auditErasure(audit, asked))
      request.ingest.audit_key = audit_key
      // and log: a crash after this leaves a record that a re-sent request only moves to a later time
      await published(broker.publish([toRecord({ ...asked, audit_key }, partitions)]))
    })
    return reply.status(202).send({ ok: true, queued: true }) // 12.
  })
}

type AskedErasure = Omit<ErasureRequest, 'audit_key'>

/** The checks of `/event` in their order (docs/rules.md#taking-a-request). */
async function takeRequest(request: FastifyRequest, { bodies, now }: RouteDeps): Promise<AskedErasure> {
  const { wire, app } = takeSigned(request, now()) // 3. and 4.
  const { app_id, company_id } = app
  const body = { wire, encoding: request.headers['content-encoding'] }
  const { install_uuid } = await bodies.judge('privacy', body, { facts: { app_id } }, (bytes) => request.hold(bytes)) // 5. to 7.
  // Taken last, so that nothing received while this request was judged lies behind it.
  return { v: 1, company_id, app_id, install_uuid, requested_at_ms: now() }
}

/**
 * Stores `<app_id>/privacy/<date>/<install_uuid>~<requested_at_ms>.json`, write-once, and gives its key without the app.
 * The object outlives the erasure, so it holds no address, no agent and nothing else of the request: the install alone.
 * An object that is there already is the same request.
 */
async function auditErasure(audit: Pick<AuditStore, 'putOnce'>, asked: AskedErasure): Promise<string> {
  const { app_id, install_uuid, requested_at_ms } = asked
  const date = utcDay(requested_at_ms)
  const audit_key = `privacy/${date}/${install_uuid}~${requested_at_ms}.json`
  await audit.putOnce(`${app_id}/${audit_key}`, Buffer.from(JSON.stringify(asked)))
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
