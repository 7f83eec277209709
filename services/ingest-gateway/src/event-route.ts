import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { CompanyCredential } from '@tributary/postgres/credentials'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RouteDeps } from './app.ts'
import { auditLine } from './audit-line.ts'
import { closeReply } from './batch-reply.ts'
import { audited, published } from './durable.ts'
import { closeRecords, type OpenRecord } from './envelopes.ts'
import { judgeBatch } from './judge-batch.ts'
import { auditHead, requestFacts } from './request-facts.ts'
import { authenticateSdk, requireAuthHeaders, type SdkSender } from './sdk-auth.ts'
import { createWithBody, type WithBody } from './with-body.ts'

/** POST /event. 200 means that the audit store and the log both hold every accepted event. */
export function eventRoute(app: FastifyInstance, deps: RouteDeps) {
  const { broker, groupCommit, quota } = deps
  const withBody = createWithBody()
  // 1. auth headers present (requireAuthHeaders), 2. size on the wire (bodyLimit)
  const options = { bodyLimit: limits.sdk_body_bytes_max, onRequest: requireAuthHeaders }
  app.post('/event', options, async (request, reply) => {
    const taken = await takeBatch(request, deps, withBody) // 3. to 7.
    const { company, app_id, received_at_ms, counted, accepted, events_rejected, open, line, answer } = taken
    const { company_id } = company
    // 8. quota; a crash after this leaves it used up until it is settled
    const spent = await quota.reserve(company, counted, received_at_ms, events_rejected)
    reply.headers(spent.headers)
    try {
      // 9. audit durable: a crash after this leaves a line whose events the client sends again
      const { audit_key, durable } = groupCommit.append({ company_id, app_id, received_at_ms, member: line })
      Object.assign(request.ingest, { accepted, audit_key })
      await audited(durable)
      // 10. log: a crash after this leaves events the client sends again, dropped as duplicates by the writer
      if (open.length > 0) await published(broker.publish(closeRecords(open, audit_key)))
      // 11. answer
      return reply.type('application/json; charset=utf-8').send(closeReply(answer, audit_key))
    } catch (error) {
      await spent.giveBack()
      throw error
    }
  })
}

interface TakenBatch {
  company: CompanyCredential
  app_id: string
  received_at_ms: number
  /** See `closeRecords`. */
  open: OpenRecord[]
  /** Events that count toward the quota. */
  counted: number
  accepted: number
  events_rejected: number
  /** Gzip member of the audit object. */
  line: Buffer
  /** See `closeReply`. */
  answer: string
}

/**
 * All that comes before the first wait. A function of its own that hands back text only, so that no parsed event
 * outlives it: an async function keeps its variables while it waits, and the collector would copy them.
 */
async function takeBatch(
  request: FastifyRequest,
  { credentials, now, partitions, broker }: RouteDeps,
  withBody: WithBody,
): Promise<TakenBatch> {
  const wire = request.body as Buffer | undefined
  if (!wire || wire.length === 0) throw new CodedError('empty_body') // 3.
  request.ingest.bytes = wire.length
  const received_at_ms = now()
  const sender = await authenticateSdk(credentials, request.headers, wire) // 4.
  const { app_id, company_id } = sender.app
  Object.assign(request.ingest, { app_id, company_id })
  const options = {
    encoding: request.headers['content-encoding'],
    inflated_bytes_max: limits.sdk_inflated_bytes_max,
    too_large: 'decompressed_too_large' as const,
  }
  return withBody(wire, options, (body) => {
    // 5.
    if (body !== wire) request.hold(body.length)
    if (body.length === 0) throw new CodedError('empty_body')
    return judgeBody(request, sender, received_at_ms, { wire, body, packs: broker.packs ?? false }, partitions)
  })
}

function judgeBody(
  request: FastifyRequest,
  { app: { app_id, company_id, platform }, company }: SdkSender,
  received_at_ms: number,
  { wire, body, packs }: { wire: Buffer; body: Buffer; packs: boolean },
  partitions: number,
): TakenBatch {
  const { sent_at_ms, rejected, open, ...judged } = judgeBatch(
    body,
    received_at_ms,
    packs && body !== wire ? wire : null,
  ) // 6. and 7.
  request.ingest.rejected = rejected
  const facts = requestFacts(request, received_at_ms)
  const envelope = { v: 1 as const, company_id, app_id, platform, source: 'sdk' as const, ...facts, sent_at_ms }
  return {
    ...{ company, app_id, received_at_ms, ...judged },
    events_rejected: [...rejected.values()].reduce((sum, n) => sum + n, 0),
    open: open(envelope, partitions),
    line: auditLine(auditHead(facts), wire, body),
  }
}
