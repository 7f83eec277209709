import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import type { RejectReason } from '@tributary/contracts/errors'
import { acceptBatch } from '@tributary/domain/accept/accept-batch'
import type { AcceptedEvent } from '@tributary/domain/accept/accept-event'
import { countOnce } from '@tributary/domain/accept/count-once'
import { findPlainEvents } from '@tributary/domain/accept/plain-events'
import { events_bytes_max, holdsOf, type OpenRecord, openRecord, openRecords } from '@tributary/gateway/event-records'
import { openPlainReply, openReply } from './batch-reply.ts'
import { readBatch, splitBatch } from './read-batch.ts'

/** The judgement of the body of an SDK batch. */
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
 * Judges a batch in the form that SDKs send, without making values of it; null for other bodies. `gzip` is the body as
 * it came, null when records must not hold it.
 */
export function judgePlain(body: Buffer, now_ms: number, gzip: Buffer | null): JudgedBatch | null {
  const split = splitBatch(body)
  if (split === null || split.raw_events.length > events_bytes_max) return null
  const { sent_at_ms, raw_events } = split
  const events = findPlainEvents(raw_events, now_ms)
  if (events === null) return null
  const { install_uuid, event_ids, has_facts } = events
  // Equal ids count by their days, which are unknown here.
  if (new Set(event_ids).size !== event_ids.length) return null
  const isWorthPacking = gzip !== null && gzip.length <= body.length * packed_share_max
  const sent = isWorthPacking ? { gzip, inflated_bytes: body.length } : raw_events
  return {
    sent_at_ms,
    accepted: event_ids.length,
    counted: event_ids.length,
    rejected: nothing,
    answer: openPlainReply(event_ids),
    open: (facts, partitions) => [
      openRecord(facts, install_uuid, { sent, holds: { facts: has_facts, receipts: false } }, partitions),
    ],
  }
}

/** Above this share, the saved bytes are not worth the unpacking. */
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
    open(facts, partitions) {
      const install_uuid = singleInstall(accepted)
      // A receipt that was cut out stands in the bytes that came.
      const isUnchanged = accepted.length === events.length && accepted.every((event, n) => event === events[n])
      const isAsSent = raw_events !== null && isUnchanged && raw_events.length <= events_bytes_max
      return isAsSent && install_uuid !== null
        ? [openRecord(facts, install_uuid, { sent: raw_events, holds: holdsOf(accepted) }, partitions)]
        : openRecords(facts, accepted, partitions)
    },
  }
}

function singleInstall(accepted: readonly AcceptedEvent[]): string | null {
  const first = accepted[0]?.install_uuid ?? null
  return accepted.every((event) => event.install_uuid === first) ? first : null
}

/** An SDK event without an id was rejected as `bad_event_id`. */
const neverMinted = (): never => {
  throw new Error('an SDK event was accepted without its event_id')
}
