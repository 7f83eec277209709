import type { OutgoingRecord } from '@tributary/broker/broker'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { acceptBatch } from '@tributary/domain/accept-batch'
import type { AppCredential } from '@tributary/postgres/credentials'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { GatewayDeps } from './app.ts'
import { auditLine } from './audit-line.ts'
import { batchReply } from './batch-reply.ts'
import { audited, published } from './durable.ts'
import { toRecords } from './envelopes.ts'
import { readBatch } from './read-batch.ts'
import { readBody } from './read-body.ts'
import { auditHead, requestFacts } from './request-facts.ts'
import { authenticateSdk, requireAuthHeaders } from './sdk-auth.ts'

/** POST /event. 200 means that the audit store and the log both hold every accepted event. */
export function eventRoute(app: FastifyInstance, deps: GatewayDeps) {
  // 1. auth headers present (requireAuthHeaders), 2. size on the wire (bodyLimit)
  const options = { bodyLimit: limits.sdk_body_bytes_max, onRequest: requireAuthHeaders }
  app.post('/event', options, async (request, reply) => {
    const { durable, records, answer } = await takeBatch(request, deps) // 3. to 8.
    // 9. audit durable: a crash after this leaves a line whose events the client sends again
    await audited(durable)
    // 10. log: a crash after this leaves events the client sends again, dropped as duplicates by the writer
    if (records.length > 0) await published(deps.broker.publish(records))
    // 11. answer
    return reply.type('application/json; charset=utf-8').send(answer)
  })
}

interface TakenBatch {
  /** The audit line of this request is on its way; see `GroupCommit`. */
  durable: Promise<void>
  records: OutgoingRecord[]
  answer: string
}

/**
 * All that comes before the wait for the disk. A function of its own and complete with records and answer, so that no
 * parsed event outlives it: an async function keeps its variables while it waits, and the collector would copy them.
 */
async function takeBatch(request: FastifyRequest, deps: GatewayDeps): Promise<TakenBatch> {
  const wire = request.body as Buffer | undefined
  if (!wire || wire.length === 0) throw new CodedError('empty_body') // 3.
  request.ingest.bytes = wire.length
  const received_at_ms = deps.now()
  const app = await authenticateSdk(deps.credentials, request.headers, wire) // 4.
  const { app_id, company_id } = app
  Object.assign(request.ingest, { app_id, company_id })
  const body = await readBody(wire, {
    encoding: request.headers['content-encoding'],
    inflated_bytes_max: limits.sdk_inflated_bytes_max,
    too_large: 'decompressed_too_large',
  }) // 5.
  if (body.length === 0) throw new CodedError('empty_body')
  return acceptBody(request, deps, app, received_at_ms, wire, body)
}

function acceptBody(
  request: FastifyRequest,
  { groupCommit, partitions }: Pick<GatewayDeps, 'groupCommit' | 'partitions'>,
  { app_id, company_id, platform }: AppCredential,
  received_at_ms: number,
  wire: Buffer,
  body: Buffer,
): TakenBatch {
  const { events, sent_at_ms, raw_events } = readBatch(body) // 6.
  const verdict = acceptBatch(events, 'sdk', received_at_ms, neverMinted) // 7.
  // 8. the monthly quota of the accepted events comes here: 429 before anything is written
  const facts = requestFacts(request, received_at_ms)
  const member = auditLine(auditHead(facts), wire, body)
  const { audit_key, durable } = groupCommit.append({ company_id, app_id, received_at_ms, member })
  const { accepted, rejected } = verdict
  const shared = {
    v: 1 as const,
    company_id,
    app_id,
    platform,
    source: 'sdk' as const,
    ...facts,
    sent_at_ms,
    audit_key,
  }
  const records = toRecords(shared, accepted, rejected.size === 0 ? raw_events : null, partitions)
  Object.assign(request.ingest, { accepted: accepted.length, rejected, audit_key })
  return { durable, records, answer: batchReply(verdict, audit_key) }
}

/** An SDK event without an id was rejected as `bad_event_id`. */
const neverMinted = (): never => {
  throw new Error('an SDK event was accepted without its event_id')
}
