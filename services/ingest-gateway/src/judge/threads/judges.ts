import { limits } from '@tributary/contracts/limits'
import type { OpenRecord } from '@tributary/gateway/event-records'
import { type BulkInput, type JudgedBulk, judgeBulk } from '../bulk.ts'
import { type EventInput, type JudgedEvent, judgeEvent } from '../event.ts'
import { type JudgedPrivacy, judgePrivacy, type PrivacyInput } from '../privacy.ts'
import type { BodyLimit } from '../read-body.ts'
import { type JudgedSdk, judgePlainSdk, judgeSdk, type SdkInput } from '../sdk.ts'

/** What is judged, by kind of request: what a judge is given besides the body, and what it makes of both. */
export interface Judged {
  sdk: { input: SdkInput; judged: JudgedSdk }
  privacy: { input: PrivacyInput; judged: JudgedPrivacy }
  event: { input: EventInput; judged: JudgedEvent }
  bulk: { input: BulkInput; judged: JudgedBulk }
}
export type Kind = keyof Judged

/**
 * Makes of a body what its request is answered and stored by. Pure and synchronous; takes and gives only what a
 * thread can hand to another, and keeps nothing of `body`, which may be written over.
 */
export interface Judge<Input, Output> extends BodyLimit {
  judge(body: Buffer, wire: Buffer, input: Input): Output
  /** What the output keeps in memory. */
  storedBytes(output: Output): number
  /** Asked first: the same for bodies that take time in proportion to their bytes, whatever stands in them; null for others. */
  judgePlain?(body: Buffer, wire: Buffer, input: Input, plain_gzip: Buffer | null): Output | null
}

/** The most that it takes to judge so many bytes: at worst, JSON of arrays in arrays. */
export const judgedMs = (bytes: number): number => bytes * 100e-6

/** What a record takes besides its text: its key, its place, and the objects that hold all of it. */
const record_overhead_bytes = 1024

/** Memory of records until their request ends. */
const openBytes = (open: readonly OpenRecord[]): number =>
  open.reduce((sum, { head, events }) => sum + record_overhead_bytes + head.length + bytesOf(events), 0)

function bytesOf(events: OpenRecord['events']): number {
  if (typeof events === 'string') return Buffer.byteLength(events)
  return Buffer.isBuffer(events) ? events.length : events.gzip.length
}

const sdkLimit = { inflated_bytes_max: limits.sdk_inflated_bytes_max, too_large: 'decompressed_too_large' } as const

export const judges: { [K in Kind]: Judge<Judged[K]['input'], Judged[K]['judged']> } = {
  sdk: {
    ...sdkLimit,
    judge: judgeSdk,
    judgePlain: judgePlainSdk,
    storedBytes: ({ open, line }) => openBytes(open) + line.length,
  },
  privacy: { ...sdkLimit, judge: judgePrivacy, storedBytes: () => 0 },
  event: {
    inflated_bytes_max: limits.s2s_body_bytes_max,
    too_large: 'body_too_large',
    judge: judgeEvent,
    storedBytes: ({ open, object }) => openBytes(open) + object.length,
  },
  bulk: {
    inflated_bytes_max: limits.bulk_body_bytes_max,
    too_large: 'body_too_large',
    judge: judgeBulk,
    storedBytes: ({ records, object }) => records.reduce((sum, { value }) => sum + value.length, object.length),
  },
}
