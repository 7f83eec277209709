import type { StampSource } from '@tributary/contracts/report-tables'
import type { ErasedInstall } from '@tributary/erasure/audit/rewrite-audit'

export type { ErasedInstall }

/** A click that goes with an install. */
export interface ErasedClick {
  click_id: string
  install_uuid: string
}

/** Rows of a table by the columns that name them (`erased_by`). Values are numbers, days and topics, never an id. */
export interface RowKeys {
  columns: readonly string[]
  rows: readonly (string | number)[][]
}

/** A row of `erased_events_v1` without app and batch. */
export interface ErasedEvents {
  day: string
  event_name: string
  currency: string
  received_day: string
  topic: string
  partition: number
  events: number
  /** Decimal text: it may pass 2^53. */
  revenue_micros: string
  /** Hashes that name the events in `events_raw_v1`. */
  row_keys: string[]
}

/** A row of `erased_claims_v1` without app. */
export interface ErasedClaim {
  transaction_key: string
  day: string
  received_at_ms: number
  topic: string
  partition: number
  offset: number
  claim_rank: number
}

/** All that a batch does. A repeat does it again from here: the rows that led to it are gone. */
export interface BatchPlan {
  /** Whether nothing of the installs is left after it. */
  drains: boolean
  deletes: Record<string, RowKeys>
  events: ErasedEvents[]
  claims: ErasedClaim[]
  /** Keys of transactions that stay claimed for ever. */
  closed: string[]
  /** Days whose stamps change, by source. */
  stamps: Partial<Record<StampSource, string[]>>
  /** Installs that are decided again. */
  neighbours: string[]
  /** Rows of each install, by table. */
  counts: Record<string, Record<string, number>>
}

/** A batch as PostgreSQL holds it. */
export interface StoredBatch {
  batch: string
  app_id: string
  run: number
  /** No consumer may be at work with fewer tombstones than these. */
  tombstones: number
  installs: ErasedInstall[]
  clicks: ErasedClick[]
  /** More clicks belong to the installs: what leads to them stays for the next batch. */
  more_clicks: boolean
  /** Null until the clicks have their tombstones, and nobody is at work without these. */
  plan: BatchPlan | null
}

/** A consumer that is at work on a batch with too few tombstones. */
export interface OpenWork {
  consumer: string
  partition: number
}
