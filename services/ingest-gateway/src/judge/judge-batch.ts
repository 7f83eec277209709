import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import type { RejectReason } from '@tributary/contracts/errors'
import { acceptBatch } from '@tributary/domain/accept/accept-batch'
import { countOnce } from '@tributary/domain/accept/count-once'
import { findPlainEvents } from '@tributary/domain/accept/plain-events'
import { openPlainReply, openReply } from './batch-reply.ts'
import { events_bytes_max, type OpenRecord, openPackedRecord, openRecord, openRecords } from './envelopes.ts'
import { readBatch, splitBatch } from './read-batch.ts'

/** What the body of an SDK batch comes to. */
export interface JudgedBatch {
  sent_at_ms: number | undefined
  accepted: number
  /** Accepted events that count toward the quota. */
  counted: number
  rejected: ReadonlyMap<RejectReason, number>
  /** See `closeReply`. */
  answer: string
  /** The accepted events as records; to be called while the body is still there. */
  open(facts: EnvelopeFacts, partitions: number): OpenRecord[]
}

/**
 * A batch as SDKs send them, judged without making values of it; null for others. `gzip` is the body as it came, for a
 * log that packs; null for another log or a body that came plain.
 */
export function judgePlain(body: Buffer, now_ms: number, gzip: Buffer | null): JudgedBatch | null {
  const split = splitBatch(body)
  if (split === null || split.raw_events.length > events_bytes_max) return null
  const { sent_at_ms, raw_events } = split
  const events = findPlainEvents(raw_events, now_ms)
  if (events === null) return null
  const { install_uuid, event_ids } = events
  // Equal ids count by their days, which are not known here.
  if (new Set(event_ids).size !== event_ids.length) return null
  const from = raw_events.byteOffset - body.byteOffset
  return {
    sent_at_ms,
    accepted: event_ids.length,
    counted: event_ids.length,
    rejected: nothing,
    answer: openPlainReply(event_ids),
    open: (facts, partitions) => [
      gzip === null || gzip.length > raw_events.length * packed_share_max
        ? openRecord(facts, install_uuid, raw_events, partitions)
        : openPackedRecord(facts, install_uuid, { gzip, from, to: from + raw_events.length }, partitions),
    ],
  }
}

/** Unpacking costs the reader something. */
const packed_share_max = 0.5

const nothing: ReadonlyMap<RejectReason, number> = new Map()

/** Any batch. Throws `bad_json` and `bad_batch_shape`. */
export function judgeAny(body: Buffer, now_ms: number): JudgedBatch {
  const { events, sent_at_ms, raw_events } = readBatch(body)
  const verdict = acceptBatch(events, 'sdk', now_ms, neverMinted)
  const { accepted, rejected } = verdict
  return {
    sent_at_ms,
    accepted: accepted.length,
    counted: countOnce(accepted, now_ms),
    rejected,
    answer: openReply(verdict),
    open: (facts, partitions) => openRecords(facts, accepted, rejected.size === 0 ? raw_events : null, partitions),
  }
}

/** An SDK event without an id was rejected as `bad_event_id`. */
const neverMinted = (): never => {
  throw new Error('an SDK event was accepted without its event_id')
}
