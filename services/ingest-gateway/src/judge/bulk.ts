import type { WholeRecord } from '@tributary/broker/broker'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import type { RejectReason } from '@tributary/contracts/errors'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { acceptBatch } from '@tributary/domain/accept/accept-batch'
import { countOnce } from '@tributary/domain/accept/count-once'
import { closeRecords, openRecords } from '@tributary/gateway/event-records'
import { auditHead } from '@tributary/gateway/request-facts'
import { mintEventId } from '../s2s/s2s-event-id.ts'
import { auditObject } from './audit-object.ts'
import { closeReply, openReply } from './batch-reply.ts'
import { bodyBytes } from './read-body.ts'
import { readJsonObject } from './read-json-object.ts'
import { type KeyRules, requireKeyFits } from './s2s-rules.ts'

export interface BulkInput {
  facts: EnvelopeFacts
  partitions: number
  key: KeyRules
  /** Key of the object that will hold the request. */
  audit_key: string
}

/** A batch of `/s2s/events/bulk`. */
export interface JudgedBulk {
  accepted: number
  /** Events that count toward the quota. */
  counted: number
  rejected: ReadonlyMap<RejectReason, number>
  /** See `bodyBytes`. */
  body_bytes: number
  records: WholeRecord[]
  /** Content of the audit object. */
  object: Buffer
  answer: string
}

/** Throws `bad_json`, `too_many_events`, `s2s_app_platform_mismatch` and `event_not_allowed_by_key`. */
export function judgeBulk(body: Buffer, wire: Buffer, { facts, partitions, key, audit_key }: BulkInput): JudgedBulk {
  const events = readEvents(readJsonObject(body))
  requireKeyFits(events, key)
  const { received_at_ms } = facts
  const verdict = acceptBatch(events, 'bulk', received_at_ms, () => mintEventId(received_at_ms))
  const { accepted, rejected, minted } = verdict
  const records = openRecords(facts, accepted, partitions)
  return {
    accepted: accepted.length,
    counted: countOnce(accepted, received_at_ms),
    rejected,
    body_bytes: bodyBytes(body, wire, records.length),
    records: closeRecords(records, audit_key),
    object: auditObject(auditHead(facts, { minted_event_ids: minted }), body),
    answer: closeReply(openReply(verdict), audit_key),
  }
}

function readEvents({ events }: Record<string, unknown>): readonly unknown[] {
  if (!Array.isArray(events) || events.length === 0) {
    throw new CodedError('bad_json', { field: 'events', message: '`events` is an array of at least one event.' })
  }
  if (events.length > limits.bulk_events_max) throw new CodedError('too_many_events')
  return events
}
