import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import type { RejectReason } from '@tributary/contracts/errors'
import { CodedError } from '@tributary/contracts/errors'
import type { OpenRecord } from '@tributary/gateway/event-records'
import { auditHead } from '@tributary/gateway/request-facts'
import { auditLine } from './audit-line.ts'
import { knownCountry } from './device-country.ts'
import { type JudgedBatch, judgeAny, judgePlain } from './judge-batch.ts'
import { bodyBytes } from './read-body.ts'

export interface SdkInput {
  facts: Omit<EnvelopeFacts, 'sent_at_ms'>
  partitions: number
}

/** A batch of `/event`. */
export interface JudgedSdk {
  accepted: number
  /** Events that count toward the quota. */
  counted: number
  rejected: ReadonlyMap<RejectReason, number>
  /** See `bodyBytes`. */
  body_bytes: number
  /** See `closeRecords`. */
  open: OpenRecord[]
  /** Gzip member of the audit object. */
  line: Buffer
  /** See `closeReply`. */
  answer: string
}

/** Any batch. Throws `bad_json` and `bad_batch_shape`. */
export const judgeSdk = (body: Buffer, wire: Buffer, input: SdkInput): JudgedSdk =>
  store(judgeAny(body, input.facts.received_at_ms), body, wire, input)

/**
 * Judges batches in the form that SDKs send, without making values of them; null for other bodies. Throws `empty_body`.
 * Records hold `plain_gzip` itself where it is smaller.
 */
export function judgePlainSdk(
  body: Buffer,
  wire: Buffer,
  input: SdkInput,
  plain_gzip: Buffer | null,
): JudgedSdk | null {
  if (body.length === 0) throw new CodedError('empty_body')
  const batch = judgePlain(body, input.facts.received_at_ms, plain_gzip)
  return batch && store(batch, body, wire, input)
}

function store(batch: JudgedBatch, body: Buffer, wire: Buffer, { facts, partitions }: SdkInput): JudgedSdk {
  const { sent_at_ms, open: openAll, ...judged } = batch
  const open = openAll({ ...facts, sent_at_ms }, partitions)
  return {
    ...judged,
    body_bytes: bodyBytes(body, wire, open.length),
    open,
    line: auditLine(auditHead(facts, knownCountry(facts.country)), wire, body),
  }
}
