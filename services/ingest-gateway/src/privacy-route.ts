import type { AuditStore } from '@tributary/audit-store/audit-store'
import { installPartition } from '@tributary/broker/partition'
import { ErasureRequest } from '@tributary/contracts/erasure'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { isJsonObject } from '@tributary/domain/accept-event'
import { parseJson } from '@tributary/service-kit/http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RouteDeps } from './app.ts'
import { audited, published } from './durable.ts'
import { readBody } from './read-body.ts'
import { authenticateSdk, requireAuthHeaders } from './sdk-auth.ts'

/** POST /privacy/delete. 202 means that the audit store and the log both hold the request; no quota is asked. */
export function privacyRoute(app: FastifyInstance, deps: RouteDeps) {
  const { audit, broker, erasures, partitions } = deps
  // 1. auth headers present (requireAuthHeaders), 2. size on the wire (bodyLimit)
  const options = { bodyLimit: limits.sdk_body_bytes_max, onRequest: requireAuthHeaders }
  app.post('/privacy/delete', options, async (request, reply) => {
    const asked = await takeRequest(request, deps) // 3. to 7.
    // 8. to 10. unless a request for this install is queued (queued-erasures.ts)
    await erasures.queueOnce(asked.app_id, asked.install_uuid, async () => {
      // 8. audit durable: a crash after this leaves an object that asks for what the client asks for again
      const audit_key = await audited(auditErasure(audit, asked))
      request.ingest.audit_key = audit_key
      // 9. log: a crash after this leaves a record that a re-sent request only moves to a later time
      await published(broker.publish([toRecord({ ...asked, audit_key }, partitions)]))
    })
    return reply.status(202).send({ ok: true, queued: true }) // 11.
  })
}

type AskedErasure = Omit<ErasureRequest, 'audit_key'>

/** The checks of `/event` in their order (decisions.md "/privacy/delete"). */
async function takeRequest(request: FastifyRequest, { credentials, now }: RouteDeps): Promise<AskedErasure> {
  const wire = request.body as Buffer | undefined
  if (!wire || wire.length === 0) throw new CodedError('empty_body') // 3.
  request.ingest.bytes = wire.length
  const { app } = await authenticateSdk(credentials, request.headers, wire) // 4.
  const { app_id, company_id } = app
  Object.assign(request.ingest, { app_id, company_id })
  const body = await readBody(wire, {
    encoding: request.headers['content-encoding'],
    inflated_bytes_max: limits.sdk_inflated_bytes_max,
    too_large: 'decompressed_too_large',
  }) // 5.
  if (body !== wire) request.hold(body.length)
  if (body.length === 0) throw new CodedError('empty_body')
  const install_uuid = readInstall(parseJson(body)) // 6. and 7.
  // Taken last, so that nothing received while this request was judged lies behind it.
  return { v: 1, company_id, app_id, install_uuid, requested_at_ms: now() }
}

function readInstall(body: unknown): string {
  if (!isJsonObject(body))
    throw new CodedError('bad_json', { field: 'body', message: 'The body is not a JSON object.' })
  const { install_uuid } = body
  if (install_uuid === undefined || install_uuid === null || install_uuid === '') {
    throw new CodedError('install_uuid_required', { field: 'install_uuid' })
  }
  const parsed = ErasureRequest.shape.install_uuid.safeParse(install_uuid)
  if (!parsed.success) throw new CodedError('invalid_field', { field: 'install_uuid' })
  return parsed.data
}

/**
 * Stores `<app_id>/privacy/<date>/<install_uuid>~<requested_at_ms>.json`, write-once, and gives its key without the app.
 * The object outlives the erasure, so it holds no address, no agent and nothing else of the request: the install alone.
 * An object that is there already is the same request.
 */
async function auditErasure(audit: Pick<AuditStore, 'putOnce'>, asked: AskedErasure): Promise<string> {
  const { app_id, install_uuid, requested_at_ms } = asked
  const date = new Date(requested_at_ms).toISOString().slice(0, 10)
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
