import type { LogRecord, NeedsValue } from '@tributary/broker/broker'
import type { ConsumerGroup } from '@tributary/contracts/consumers'
import type { TombstoneStore, Tombstones } from '@tributary/domain/erasure/tombstones'
import type { StampStore } from './stamps.ts'

/** A record with its decoded value. */
export interface DecodedRecord<T> {
  record: LogRecord
  value: T
}

/** A range of one partition, handled as a whole: after a crash exactly the same records come again. */
export interface Batch<T> {
  topic: string
  partition: number
  /**
   * Topic and identity of the log, for positions in tables: `<topic>@<log>`. A log gets another identity when it was made anew or
   * restored, or when its offsets were moved. So equal positions always mean equal records.
   */
  source: string
  /** First and last offset, both inclusive. */
  from: number
  to: number
  /** `<consumer>/<topic>/<partition>/<log>/<from>-<to>`: same token, same records. */
  token: string
  records: readonly DecodedRecord<T>[]
  /**
   * Number of this call of `handle` with this batch, over all processes, from 1. It is committed before the call. A number may be
   * skipped, but none comes twice. From 2 on an earlier attempt may have left some of its effects.
   */
  attempt: number
  /** The tombstones that the batch pinned; every try gets the same. Empty for a consumer that pins none. */
  tombstones: Tombstones
  /** When its rows count as stored, Unix epoch ms; every try gets the same. 0 for a consumer without stamps. */
  stored_at_ms: number
  /** The value that the batch before this one gave to `keep`; every try of a batch gets the same. */
  state: unknown
  /** Commits a small value (JSON, at most 2 KB) together with the end of this batch. */
  keep(state: unknown): void
  /**
   * Declares the batch again unless that was just done, and rejects when the partition was lost. Call it right before
   * each effect that the next owner could not distinguish from its own: a process that slept must not continue its
   * batch.
   */
  fence(): Promise<void>
  /** Puts a record into the dead-letter topic once this batch is done; `reason` is a short constant. */
  dead(record: LogRecord, reason: string): void
  /** Counts records or events that were left out on purpose (`duplicate`, ...). */
  dropped(reason: string, count: number): void
  written(count: number): void
  signal: AbortSignal
}

/** Bounds a batch by the rows that it makes. They hold before the batch is declared. */
export interface BatchBounds<T> {
  rows_max: number
  bytes_max: number
  /** The size of the rows that a record makes. A batch of one record is never too large. */
  measure(value: T): { rows: number; bytes: number }
}

/** What is committed for a partition when it is taken over. */
export interface TakenOver {
  source: string
  partition: number
  /** The value that the last batch kept. */
  state: unknown
  /** Last offset of a batch that was declared and perhaps not finished; null without one. */
  open_to: number | null
}

/** Why the rows of a consumer contradict the commits of its group. */
export interface Misfit {
  /** A short constant that names the reason in the log line and the metric. */
  reason: string
  /** True when committed work is missing: the log is read again from its earliest record. Otherwise reading continues. */
  reread: boolean
}

/** The size of a fetch: the log answers with `bytes_min`, or after `wait_ms_max`, and never above `bytes_max`. */
export interface FetchSizes {
  bytes_min: number
  bytes_max: number
  wait_ms_max: number
  /** Maximum of fetched bytes that a process holds for all partitions together. */
  bytes_total_max?: number
}

/** A consumer is a value: the kit owns intent, offsets, retries, dead letters, lag, metrics and stop. */
export interface ConsumerDefinition<T> extends ConsumerGroup {
  /**
   * Whether a record is read, by its headers. Other records are skipped: they are neither inflated nor decoded, and `handle` does not
   * get them.
   */
  needsValue?: NeedsValue
  /** Sizes that replace those of the kit, which suit large inserts. */
  fetch?: Partial<FetchSizes>
  bounds?: BatchBounds<T>
  /**
   * Required exactly where the group says `pins_tombstones`: each batch pins what was erased
   * (docs/decisions/erasure.md#batches-pin-the-tombstones-that-they-know).
   */
  tombstones?: TombstoneStore
  /** Gives each batch the time at which its rows count as stored; without it that is 0. */
  stamps?: StampStore
  /**
   * The app of a value, or null; required with `tombstones`. While an app is locked (`Tombstones.isLocked`), the kit puts its
   * records into the dead-letter topic as `salt_unreadable`, and `handle` does not get them
   * (docs/decisions/erasure.md#unreadable-salts-make-dead-letters).
   */
  appOf?(value: T): string | null
  /**
   * Throws for a value that can never be handled: this record becomes a dead letter (`undecodable`), the others are handled. Work that
   * needs only the record belongs here: it is done once, however often `handle` is called, and only its result stays in memory. Where
   * most records turn out not to need it, `handle` may take `record.value`. `source` as in `Batch`.
   */
  decode(record: LogRecord, source: string): T
  /** May be called again with the same batch. Rejecting means "not now": the kit tries again for ever, with pauses. */
  handle(batch: Batch<T>): Promise<void>
  /**
   * The kit calls it whenever it takes over a partition. Null means that the written rows agree with the commits. After a misfit the
   * kit continues under a new identity of the log, so that no earlier row counts as the work of a new batch.
   */
  findMisfit?(at: TakenOver): Promise<Misfit | null>
}

export const defineConsumer = <T>(definition: ConsumerDefinition<T>): ConsumerDefinition<T> => definition
