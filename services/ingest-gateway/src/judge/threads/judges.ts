import { limits } from '@tributary/contracts/limits'
import type { JudgedUpload } from '@tributary/domain/costs/judge-upload'
import type { OpenRecord } from '@tributary/gateway/event-records'
import { type BulkInput, type JudgedBulk, judgeBulk } from '../bulk.ts'
import { type CostsInput, judgeCostsBody } from '../costs.ts'
import { type EventInput, type JudgedEvent, judgeEvent } from '../event.ts'
import { type JudgedPrivacy, judgePrivacy, type PrivacyInput } from '../privacy.ts'
import type { BodyLimit } from '../read-body.ts'
import { type JudgedSdk, judgePlainSdk, judgeSdk, type SdkInput } from '../sdk.ts'

/** The kinds of judged requests. Each has the input of its judge besides the body, and its output. */
export interface Judged {
  sdk: { input: SdkInput; judged: JudgedSdk }
  privacy: { input: PrivacyInput; judged: JudgedPrivacy }
  event: { input: EventInput; judged: JudgedEvent }
  bulk: { input: BulkInput; judged: JudgedBulk }
  costs: { input: CostsInput; judged: JudgedUpload }
}
export type Kind = keyof Judged

/**
 * Judges a body: the output holds what the answer and the stores need. It is pure and synchronous, takes and gives only
 * what one thread can hand to another, and keeps nothing of `body`, which may be overwritten.
 */
export interface Judge<Input, Output> extends BodyLimit {
  judge(body: Buffer, wire: Buffer, input: Input): Output
  /** What the output keeps in memory. */
  storedBytes(output: Output): number
  /**
   * Asked first. It judges bodies whose time is in proportion to their bytes, whatever they hold; null for other
   * bodies.
   */
  judgePlain?(body: Buffer, wire: Buffer, input: Input, plain_gzip: Buffer | null): Output | null
}

/** The longest time to judge so many bytes; JSON of arrays in arrays is the worst. */
export const judgedMs = (bytes: number): number => bytes * 100e-6

/** Memory of a record besides its text: its key, its partition, and the objects around them. */
const record_overhead_bytes = 1024

/** Memory of a cost besides its texts, and of its line. */
const cost_bytes = 512

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
    storedBytes: ({ records, object }) => records.values.length + object.length,
  },
  costs: {
    inflated_bytes_max: limits.costs_body_bytes_max,
    too_large: 'body_too_large',
    judge: judgeCostsBody,
    storedBytes: ({ costs }) =>
      costs.reduce((sum, cost) => sum + cost_bytes + cost.campaign.length + cost.ad_group.length, 0),
  },
}
